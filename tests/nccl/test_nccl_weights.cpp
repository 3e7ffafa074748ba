// Weights on their way to ranks that only generate: the checksum's kernel against the one of tensor
// operations, faults on a GPU, and, hidden, the seconds of an 8B policy: `mpirun -np 2 test_nccl
// "[.weights]"`.
#include "tests/nccl/ranks_with_gpus.h"
#include "tests/trainer/fixtures.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdio>

#include "common/clock.h"
#include "common/error.h"
#include "trainer/ranks/nccl/nccl_tensor_plane.h"
#include "trainer/ranks/tensor_checksum.h"
#include "trainer/update/weight_sync.h"

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

at::Tensor random_words(int64_t count, at::Device device) {
  return at::randint(std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max(), {count},
                     at::TensorOptions(device).dtype(at::kInt));
}

void fill_at_random(ParameterStore& store) {
  for (int64_t g = 0; g < store.layout().group_count(); ++g) store.group_values(g).uniform_(-1, 1);
}

// Seconds until all ranks have finished, of the fastest of some rounds.
double seconds_of(ControlPlane& control, const std::function<void()>& work) {
  double best = 1e9;
  for (int round = 0; round < 4; ++round) {
    cudaDeviceSynchronize();
    control.barrier();
    const Stopwatch watch;
    work();
    cudaDeviceSynchronize();
    std::vector<double> slowest{watch.seconds()};
    control.all_reduce(slowest, Reduction::kMax);
    best = std::min(best, slowest[0]);
  }
  return best;
}

}  // namespace

TEST_CASE("the checksum's kernel gives what tensor operations give, on a GPU and on the CPU") {
  GpuRanks& ranks = gpu_ranks(1);
  NcclTensorPlane plane(ranks.session, ranks.control, ranks.gpu());
  const at::Tensor words = random_words((3 << 20) + 7, ranks.gpu());
  const at::Tensor on_host = words.to(at::kCPU);
  for (const int64_t offset : {0, 1, 2, 3, 5})
    for (const int64_t count : {0, 1, 2, 3, 4, 5, 7, 8, 255, 1024, 4099, 3 << 20})
      for (const int64_t bucket : {0, 3}) {
        CAPTURE(offset, count, bucket);
        const at::Tensor part = words.narrow(0, offset, std::min<int64_t>(count, words.numel() - offset));
        const auto expected =
            tensor_checksum(on_host.narrow(0, offset, part.numel()), bucket).item<int64_t>();
        CHECK(plane.checksum(part, bucket).item<int64_t>() == expected);
        CHECK(tensor_checksum(part, bucket).item<int64_t>() == expected);
      }
  at::Tensor turned = words.clone();
  turned[12345].bitwise_xor_(1 << 30);
  CHECK(plane.checksum(turned, 0).item<int64_t>() != plane.checksum(words, 0).item<int64_t>());
  CHECK(plane.checksum(words, 1).item<int64_t>() != plane.checksum(words, 0).item<int64_t>());
}

TEST_CASE("weights reach a GPU that only generates, and a difference between holders is reported") {
  GpuRanks& ranks = gpu_ranks(2);
  NcclTensorPlane plane(ranks.session, ranks.control, ranks.gpu());
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    Transformer policy =
        Transformer::random(tiny_config(4), static_cast<uint64_t>(ranks.control.rank()), ranks.gpu(), dtype);
    WeightSync weights(policy.store(), ranks.control, plane, /*holders=*/1);
    weights.synchronise(5);
    const auto checksums = ranks.control.all_gather(policy.store().checksum());
    CHECK(std::count(checksums.begin(), checksums.end(), checksums.front()) == ranks.control.size());
    // All hold them now; one loses a bit.
    WeightSync among_holders(policy.store(), ranks.control, plane, ranks.control.size());
    if (ranks.control.rank() == 1) policy.store().group_values(1).narrow(0, 0, 1).add_(1);
    CHECK_THROWS_WITH(among_holders.synchronise(6),
                      ContainsSubstring("rank 1") && ContainsSubstring("checksum"));
    CHECK_THROWS_WITH(weights.synchronise(6 + ranks.control.rank()), ContainsSubstring("version"));
  }
}

TEST_CASE("seconds in which the weights of an 8B policy move", "[.weights]") {
  GpuRanks& ranks = gpu_ranks(1);
  ControlPlane& control = ranks.control;
  NcclTensorPlane plane(ranks.session, control, ranks.gpu());
  const PolicyConfig config = PolicyConfig::from_file("configs/shapes/sdar-8b.json");
  ParameterStore store(config, ranks.gpu(), at::kBFloat16);
  if (control.rank() == 0) fill_at_random(store);
  WeightSync weights(store, control, plane, /*holders=*/1);
  const double synchronised = seconds_of(control, [&] { weights.synchronise(1); });
  const double moved = seconds_of(control, [&] {
    std::vector<Transfer> all;
    for (int64_t g = 0; g < store.layout().group_count(); ++g)
      all.push_back(plane.broadcast(store.group_values(g), 0, "values"));
    for (Transfer& transfer : all) transfer.wait();
  });
  const auto sums_by = [&](auto&& checksum) {
    return seconds_of(control, [&] {
      std::vector<at::Tensor> sums;
      for (int64_t g = 0; g < store.layout().group_count(); ++g)
        sums.push_back(checksum(store.group_values(g), g));
      at::stack(sums).to(at::kCPU);
    });
  };
  const double by_kernel = sums_by([&](const at::Tensor& x, int64_t b) { return plane.checksum(x, b); });
  const double by_operations = sums_by([&](const at::Tensor& x, int64_t b) { return tensor_checksum(x, b); });
  if (control.rank() != 0) return;
  printf(
      "%.2f GB in %d buckets: %.1f ms with versions and checksums; broadcasts alone %.1f ms; checksums of "
      "one rank "
      "%.1f ms by the kernel, %.1f ms by tensor operations\n",
      static_cast<double>(weights.bytes()) / 1e9, static_cast<int>(store.layout().group_count()),
      synchronised * 1e3, moved * 1e3, by_kernel * 1e3, by_operations * 1e3);
  fflush(stdout);
}
