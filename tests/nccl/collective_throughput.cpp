// Hidden: `mpirun -np N test_nccl "[.throughput]"` prints what the plane's operations move, beside NCCL alone
// in a tight loop in the same process; nothing is asserted about it. Bandwidth is the bus's: what a rank has
// to send and receive at least, 2 (n - 1) / n of the buffer for a sum, (n - 1) / n for a share or a copy.
#include "tests/nccl/ranks_with_gpus.h"
#include "tests/trainer/fixtures.h"

#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <functional>
#include <iostream>

#include "common/clock.h"
#include "common/error.h"
#include "trainer/ranks/mpi/mpi_tensor_plane.h"
#include "trainer/ranks/nccl/nccl_tensor_plane.h"

using namespace bicrl;
using namespace bicrl::testing;

namespace {

constexpr int kUnderWay = 3;  // as an update has at a time (trainer/update/gradient_buckets.h)
constexpr int kRounds = 3;    // of which the best counts

// NCCL without the plane.
class BareNccl {
 public:
  explicit BareNccl(ControlPlane& control) {
    ncclUniqueId id = {};
    if (control.rank() == 0) REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
    id = all_gather_values(control, id).front();
    REQUIRE(ncclCommInitRank(&comm_, control.size(), id, control.rank()) == ncclSuccess);
  }
  ~BareNccl() { ncclCommDestroy(comm_); }
  ncclComm_t comm() const { return comm_; }

 private:
  ncclComm_t comm_ = nullptr;
};

// Seconds of one call, of the slowest rank, at best.
double seconds_of(ControlPlane& control, int calls, const std::function<void()>& all_calls) {
  std::vector<double> best{1e9};
  for (int round = 0; round < kRounds; ++round) {
    cudaDeviceSynchronize();
    control.barrier();
    const Stopwatch watch;
    all_calls();
    cudaDeviceSynchronize();
    std::vector<double> slowest{watch.seconds() / calls};
    control.all_reduce(slowest, Reduction::kMax);
    best[0] = std::min(best[0], slowest[0]);
  }
  return best[0];
}

struct Kind {
  std::string name;
  double share;  // of the buffer on the bus, for n ranks: share * (n - 1) / n
  std::function<ncclResult_t(const at::Tensor&, cudaStream_t)> bare;
  std::function<Transfer(TensorPlane&, const at::Tensor&)> planned;
};

std::vector<Kind> kinds(ncclComm_t comm, int rank, int size) {
  const auto part = [rank, size](const at::Tensor& x) {
    return x.narrow(0, rank * (x.numel() / size), x.numel() / size);
  };
  return {{"all-reduce", 2,
           [=](const at::Tensor& x, cudaStream_t s) {
             return ncclAllReduce(x.data_ptr(), x.data_ptr(), static_cast<size_t>(x.numel()), ncclFloat32,
                                  ncclSum, comm, s);
           },
           [](TensorPlane& t, const at::Tensor& x) { return t.all_reduce(x, "x"); }},
          {"reduce-scatter", 1,
           [=](const at::Tensor& x, cudaStream_t s) {
             return ncclReduceScatter(x.data_ptr(), part(x).data_ptr(), static_cast<size_t>(x.numel() / size),
                                      ncclFloat32, ncclSum, comm, s);
           },
           [=](TensorPlane& t, const at::Tensor& x) { return t.reduce_scatter(x, part(x), "x"); }},
          {"all-gather", 1,
           [=](const at::Tensor& x, cudaStream_t s) {
             return ncclAllGather(part(x).data_ptr(), x.data_ptr(), static_cast<size_t>(x.numel() / size),
                                  ncclFloat32, comm, s);
           },
           [=](TensorPlane& t, const at::Tensor& x) { return t.all_gather(part(x), x, "x"); }},
          {"broadcast", 1.0 * size / (size - 1),
           [=](const at::Tensor& x, cudaStream_t s) {
             return ncclBroadcast(x.data_ptr(), x.data_ptr(), static_cast<size_t>(x.numel()), ncclFloat32, 0,
                                  comm, s);
           },
           [](TensorPlane& t, const at::Tensor& x) { return t.broadcast(x, 0, "x"); }}};
}

void print(ControlPlane& control, const char* format, auto... values) {
  if (control.rank() != 0) return;
  printf(format, values...);
  fflush(stdout);
}

}  // namespace

TEST_CASE("throughput of NCCL, bare and by the plane", "[.throughput]") {
  GpuRanks& ranks = gpu_ranks(2);
  ControlPlane& control = ranks.control;
  NcclTensorPlane plane(ranks.session, control, ranks.gpu());
  MpiTensorPlane staged(ranks.session);
  const BareNccl bare(control);
  const auto stream = c10::cuda::getStreamFromPool(/*isHighPriority=*/true);
  const int n = control.size();
  print(control, "%s\n%-15s %8s %10s %10s %6s %10s %6s\n", plane.description().c_str(), "GB/s (bus)", "MiB",
        "bare", "plane, 3", "ratio", "plane, 1", "ratio");
  for (const Kind& kind : kinds(bare.comm(), control.rank(), n))
    for (const int64_t mib : {1, 4, 16, 64, 256, 1024}) {
      const int calls = static_cast<int>(std::clamp<int64_t>(8192 / mib, 12, 300));
      std::vector<at::Tensor> buffers;
      for (int i = 0; i < kUnderWay; ++i) buffers.push_back(at::zeros({mib << 18}, ranks.gpu()));
      const auto bare_calls = [&] {
        for (int i = 0; i < calls; ++i)
          REQUIRE(kind.bare(buffers[static_cast<size_t>(i % kUnderWay)], stream.stream()) == ncclSuccess);
      };
      const auto one_by_one = [&] {
        for (int i = 0; i < calls; ++i)
          kind.planned(plane, buffers[static_cast<size_t>(i % kUnderWay)]).wait();
      };
      const auto several = [&] {
        std::vector<Transfer> transfers(kUnderWay);
        for (int i = 0; i < calls; ++i) {
          Transfer& next = transfers[static_cast<size_t>(i % kUnderWay)];
          next.wait();
          next = kind.planned(plane, buffers[static_cast<size_t>(i % kUnderWay)]);
        }
        for (Transfer& transfer : transfers) transfer.wait();
      };
      const double bus_gb = static_cast<double>(mib << 20) * kind.share * (n - 1) / n / 1e9;
      const double raw = bus_gb / seconds_of(control, calls, bare_calls);
      const double three = bus_gb / seconds_of(control, calls, several);
      const double one = bus_gb / seconds_of(control, calls, one_by_one);
      print(control, "%-15s %8d %10.1f %10.1f %6.2f %10.1f %6.2f\n", kind.name.c_str(), static_cast<int>(mib),
            raw, three, three / raw, one, one / raw);
    }
  at::Tensor x = at::zeros({int64_t{64} << 18}, ranks.gpu());
  const double by_host = seconds_of(control, 2, [&] {
    for (int i = 0; i < 2; ++i) staged.all_reduce(x, "x").wait();
  });
  print(control, "all-reduce of 64 MiB over MPI, staged in host memory: %.2f GB/s\n",
        static_cast<double>(64 << 20) * 2 * (n - 1) / n / 1e9 / by_host);
}

TEST_CASE("transfers beside products of matrices", "[.throughput]") {
  GpuRanks& ranks = gpu_ranks(2);
  ControlPlane& control = ranks.control;
  NcclTensorPlane plane(ranks.session, control, ranks.gpu());
  at::Tensor x = at::zeros({int64_t{256} << 18}, ranks.gpu());
  const at::Tensor a = at::rand({8192, 8192}, at::TensorOptions(ranks.gpu()).dtype(at::kBFloat16));
  at::Tensor product = at::empty_like(a);
  constexpr int kTransfers = 4, kProducts = 10;
  const auto multiply = [&] {
    for (int i = 0; i < kProducts; ++i) at::mm_out(product, a, a);
  };
  const auto send = [&](std::vector<Transfer>& transfers) {
    for (int i = 0; i < kTransfers; ++i) transfers.push_back(plane.all_reduce(x, "x"));
  };
  const auto receive = [](std::vector<Transfer>& transfers) {
    for (Transfer& transfer : transfers) transfer.wait();
  };
  multiply();
  const double products = seconds_of(control, 1, multiply);
  const double transfers = seconds_of(control, 1, [&] {
    std::vector<Transfer> under_way;
    send(under_way);
    receive(under_way);
  });
  const double both = seconds_of(control, 1, [&] {
    std::vector<Transfer> under_way;
    send(under_way);
    multiply();
    receive(under_way);
  });
  print(control,
        "%d all-reduces of 256 MiB %.2f ms, %d products of 8192^3 %.2f ms, both %.2f ms: %.0f %% of the "
        "shorter is "
        "hidden\n",
        kTransfers, transfers * 1e3, kProducts, products * 1e3, both * 1e3,
        100 * (products + transfers - both) / std::min(products, transfers));
}

TEST_CASE("seconds of an update, over NCCL and staged over MPI", "[.throughput]") {
  GpuRanks& ranks = gpu_ranks(2);
  ControlPlane& control = ranks.control;
  NcclTensorPlane nccl(ranks.session, control, ranks.gpu());
  MpiTensorPlane staged(ranks.session);
  PolicyConfig config = tiny_config(4);
  config.vocab_size = 4096;
  config.hidden_size = 1024;
  config.layers = 16;
  config.heads = 16;
  config.kv_heads = 8;
  config.head_dim = 64;
  config.intermediate_size = 3072;
  config.initializer_range = 0.02;
  std::vector<Experience> mine;
  for (uint64_t i = 0; i < 48; ++i) {
    TraceShape shape;
    shape.prompt_tokens = 60 + static_cast<int64_t>(i / 8);
    shape.response_blocks = 50;
    mine.push_back(
        random_experience(config, shape, 100 * static_cast<uint64_t>(control.rank()) + i, i % 2 ? 1 : -1));
  }
  const auto allowed = at::ones({config.vocab_size}, at::TensorOptions(ranks.gpu()).dtype(at::kBool));
  const auto seconds = [&](TensorPlane& plane, int64_t stage) {
    Transformer policy = Transformer::random(config, 7, ranks.gpu(), at::kBFloat16);
    UpdaterSettings settings;
    settings.learning_rate.peak = 1e-6;
    PolicyUpdater updater(policy, allowed, settings, control, plane, Sharding{stage});
    updater.broadcast_parameters();
    reinforce(updater, mine, control);
    return seconds_of(control, 1, [&] { reinforce(updater, mine, control); });
  };
  print(control, "%.0f million parameters, bf16, %d responses of 200 tokens a rank: seconds of an update\n",
        static_cast<double>(ParameterLayout(config).parameter_count()) / 1e6, static_cast<int>(mine.size()));
  for (const int64_t stage : {0, 1, 2, 3})
    print(control, "  stage %d: NCCL %.3f\n", static_cast<int>(stage), seconds(nccl, stage));
  print(control, "  stage 0: MPI %.3f\n", seconds(staged, 0));
}
