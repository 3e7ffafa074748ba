// The tensor plane of GPUs: its results are the MPI plane's, and what goes wrong is an Error, not a hang.
#include "tests/nccl/ranks_with_gpus.h"

#include <ATen/cuda/Sleep.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <functional>
#include <iostream>
#include <thread>

#include "common/clock.h"
#include "common/error.h"
#include "tests/trainer/ranks/exchanged_values.h"
#include "trainer/ranks/entered_operations.h"
#include "trainer/ranks/mpi/mpi_tensor_plane.h"
#include "trainer/ranks/nccl/nccl_tensor_plane.h"

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr double kPatience_s = 1;
constexpr int64_t kClocksPerSecond = 1'980'000'000;  // at most, of the GPUs of today

// With a control plane of their own, as a fault leaves it with records that nobody waits for.
struct BothPlanes {
  explicit BothPlanes(GpuRanks& ranks)
      : control(ranks.session), nccl(ranks.session, control, ranks.gpu()), mpi(ranks.session) {
    nccl.set_wait_limit(60);
  }
  MpiControlPlane control;
  NcclTensorPlane nccl;
  MpiTensorPlane mpi;
};

// Ranks wait for each other, and answer those that still hang in the plane.
void meet(ControlPlane& control, TensorPlane& plane) {
  control.set_while_waiting([&] { plane.poll(); });
  control.barrier();
  control.set_while_waiting({});
}

// Two values have one sum; three or more have several, by the order in which they are added.
bool same_sum(const at::Tensor& a, const at::Tensor& b, int ranks) {
  if (ranks <= 2 || a.scalar_type() == at::kLong) return at::equal(a, b);
  return at::allclose(a, b, 1e-5, 1e-2);
}

void check_sums(TensorPlane& plane, TensorPlane& mpi, at::Device device, int64_t size, at::ScalarType type) {
  const int ranks = plane.size(), rank = plane.rank();
  INFO(size << " elements of " << c10::toString(type) << " on " << device.str());
  const at::Tensor mine = values_of(rank, size * ranks, type);
  at::Tensor expected = mine.clone();
  mpi.all_reduce(expected, "expected").wait();

  at::Tensor x = mine.to(device, type, /*non_blocking=*/false, /*copy=*/true);
  plane.all_reduce(x, "x").wait();
  CHECK(same_sum(x.cpu(), expected, ranks));

  at::Tensor whole = mine.to(device, type, false, true), apart = at::zeros({size}, whole.options());
  plane.reduce_scatter(whole, apart, "apart").wait();
  CHECK(same_sum(apart.cpu(), expected.narrow(0, rank * size, size), ranks));
  CHECK(at::equal(whole.cpu(), mine));
  const at::Tensor within = whole.narrow(0, rank * size, size);
  plane.reduce_scatter(whole, within, "within").wait();
  CHECK(same_sum(within.cpu(), expected.narrow(0, rank * size, size), ranks));
  for (int other = 0; other < ranks; ++other)
    if (other != rank)
      CHECK(at::equal(whole.narrow(0, other * size, size).cpu(), mine.narrow(0, other * size, size)));
}

void check_copies(TensorPlane& plane, at::Device device, int64_t size, at::ScalarType type) {
  const int ranks = plane.size(), rank = plane.rank();
  INFO(size << " elements of " << c10::toString(type) << " on " << device.str());
  const auto options = at::TensorOptions(device).dtype(type);
  at::Tensor expected = at::empty({0}, type);
  for (int other = 0; other < ranks; ++other) expected = at::cat({expected, values_of(other, size, type)});

  at::Tensor whole = at::zeros({size * ranks}, options);
  plane.all_gather(values_of(rank, size, type).to(device), whole, "whole").wait();
  CHECK(at::equal(whole.cpu(), expected));
  at::Tensor in_place = at::zeros({size * ranks}, options);
  in_place.narrow(0, rank * size, size).copy_(values_of(rank, size, type));
  plane.all_gather(in_place.narrow(0, rank * size, size), in_place, "in place").wait();
  CHECK(at::equal(in_place.cpu(), expected));

  for (const int root : {0, ranks - 1}) {
    at::Tensor x = values_of(rank, size, type).to(device);
    plane.broadcast(x, root, "x").wait();
    CHECK(at::equal(x.cpu(), values_of(root, size, type)));
  }
}

}  // namespace

TEST_CASE("NCCL's results are MPI's, for every operation, type and place") {
  GpuRanks& ranks = gpu_ranks(1);
  BothPlanes planes(ranks);
  TensorPlane& nccl = planes.nccl;
  if (nccl.rank() == 0) std::cout << planes.nccl.description() << std::endl;
  CHECK(nccl.rank() == ranks.control.rank());
  CHECK(nccl.size() == ranks.control.size());
  for (const at::Device device : {ranks.gpu(), at::Device(at::kCPU)}) {
    for (const auto type : {at::kFloat, at::kDouble, at::kLong})
      for (const int64_t size : {1, 5, 1001, 1 << 18, (3 << 20) + 7})
        check_sums(nccl, planes.mpi, device, size, type);
    for (const auto type : {at::kFloat, at::kDouble, at::kLong, at::kBFloat16, at::kHalf})
      for (const int64_t size : {1, 5, 1001, 1 << 18}) check_copies(nccl, device, size, type);
  }
  at::Tensor half = at::ones({8}, at::TensorOptions(ranks.gpu()).dtype(at::kBFloat16));
  CHECK_THROWS_AS(nccl.all_reduce(half, "half"), Error);
  at::Tensor x = at::full({8}, 1.0, ranks.gpu());
  nccl.all_reduce(x, "after an operation that was refused").wait();
  CHECK(x.eq(ranks.control.size()).all().item<bool>());
}

TEST_CASE("several transfers are under way, and end in any order of waits") {
  GpuRanks& ranks = gpu_ranks(1);
  BothPlanes planes(ranks);
  TensorPlane& nccl = planes.nccl;
  const int64_t n = 1 << 20;
  std::vector<at::Tensor> sums, gathered;
  std::vector<Transfer> transfers;
  for (int i = 0; i < 6; ++i) {
    sums.push_back(values_of(nccl.rank(), n + i, at::kFloat).to(ranks.gpu()));
    transfers.push_back(nccl.all_reduce(sums.back(), concat("tensor ", i)));
    gathered.push_back(at::zeros({16 * nccl.size()}, at::TensorOptions(ranks.gpu()).dtype(at::kLong)));
    transfers.push_back(
        nccl.all_gather(at::full({16}, 10 * i + nccl.rank(), at::TensorOptions(ranks.gpu()).dtype(at::kLong)),
                        gathered.back(), concat("gathered ", i)));
  }
  for (size_t i = transfers.size(); i-- > 0;) transfers[i].wait();
  for (int i = 0; i < 6; ++i) {
    at::Tensor expected = values_of(nccl.rank(), n + i, at::kFloat);
    planes.mpi.all_reduce(expected, "expected").wait();
    CHECK(same_sum(sums[static_cast<size_t>(i)].cpu(), expected, nccl.size()));
    CHECK(gathered[static_cast<size_t>(i)][16 * nccl.size() - 1].item<int64_t>() == 10 * i + nccl.size() - 1);
  }
}

// What is still being computed when an operation starts is its input; what comes after it does not disturb
// it, though its memory has been given back meanwhile.
TEST_CASE("a transfer takes what the stream had to do before it, and nothing later") {
  GpuRanks& ranks = gpu_ranks(1);
  BothPlanes planes(ranks);
  TensorPlane& nccl = planes.nccl;
  const int64_t n = 1 << 22;
  const double expected = 5.0 * nccl.size() * (nccl.size() + 1) / 2;
  for (int i = 0; i < 20; ++i) {
    at::Tensor sum = at::empty({n}, ranks.gpu());
    Transfer reduced, gathered;
    at::Tensor whole = at::empty({n * nccl.size()}, ranks.gpu());
    {
      at::cuda::sleep(kClocksPerSecond / 200);  // 5 ms
      sum.fill_(2.5 * (nccl.rank() + 1)).mul_(2);
      reduced = nccl.all_reduce(sum, concat("late input ", i));
      const at::Tensor mine = at::full({n}, 1.0 * nccl.rank() + i, ranks.gpu());
      gathered = nccl.all_gather(mine, whole, concat("freed input ", i));
    }
    const at::Tensor other = at::full({n}, -1.0, ranks.gpu());  // may take the memory of `mine`
    reduced.wait();
    CHECK(sum.eq(expected).all().item<bool>());
    gathered.wait();
    for (int rank = 0; rank < nccl.size(); ++rank)
      CHECK(whole.narrow(0, rank * n, n).eq(1.0 * rank + i).all().item<bool>());
    CHECK(other.eq(-1).all().item<bool>());
  }
}

TEST_CASE("ranks in different operations throw, and say which") {
  GpuRanks& ranks = gpu_ranks(2);
  ControlPlane& control = ranks.control;
  const auto options = at::TensorOptions(ranks.gpu());
  const auto run_apart = [&](const std::function<void(TensorPlane&)>& of_first,
                             const std::function<void(TensorPlane&)>& of_others) {
    BothPlanes planes(ranks);
    at::Tensor before = at::ones({1 << 20}, options);
    planes.nccl.all_reduce(before, "before").wait();
    const Stopwatch watch;
    const std::string message = message_of([&] {
      (control.rank() == 0 ? of_first : of_others)(planes.nccl);
      compare_entered(planes.nccl, planes.control);
    });
    CHECK(watch.seconds() < 30);
    meet(control, planes.nccl);
    CHECK_THROWS_AS(planes.nccl.all_reduce(before, "after the fault"), Error);
    return message;
  };
  const int n = control.size();
  at::Tensor x = at::ones({4 * n}, options), mine = at::ones({4}, options);
  const std::string operations =
      run_apart([&](TensorPlane& t) { t.all_gather(mine, x, "values of layer 1").wait(); },
                [&](TensorPlane& t) { t.all_reduce(x, "gradient of layer 1").wait(); });
  if (control.rank() == 0)
    CHECK_THAT(operations, ContainsSubstring("rank 0 is in all-gather of values of layer 1") &&
                               ContainsSubstring(" in all-reduce of gradient of layer 1"));
  else
    CHECK_THAT(operations, ContainsSubstring("rank 0 in all-gather"));
  at::Tensor small = at::ones({3}, options);
  CHECK_THAT(run_apart([&](TensorPlane& t) { t.all_reduce(x, "layer 2").wait(); },
                       [&](TensorPlane& t) { t.all_reduce(small, "layer 2").wait(); }),
             ContainsSubstring("(3 elements of Float)"));
  at::Tensor wide = at::ones({4 * n}, options.dtype(at::kDouble));
  CHECK_THAT(run_apart([&](TensorPlane& t) { t.all_reduce(x, "layer 3").wait(); },
                       [&](TensorPlane& t) { t.all_reduce(wide, "layer 3").wait(); }),
             ContainsSubstring("elements of Float)") && ContainsSubstring("elements of Double)"));
  CHECK_THAT(run_apart([&](TensorPlane& t) { t.broadcast(x, 0, "layer 4").wait(); },
                       [&](TensorPlane& t) { t.broadcast(x, 1, "layer 4").wait(); }),
             ContainsSubstring("broadcast from rank 0") && ContainsSubstring("broadcast from rank 1"));
  // NCCL adds these without a fault.
  CHECK_THAT(run_apart([&](TensorPlane& t) { t.all_reduce(x, "gradient of layer 5").wait(); },
                       [&](TensorPlane& t) { t.all_reduce(x, "gradient of layer 6").wait(); }),
             ContainsSubstring("gradient of layer 5 (") && ContainsSubstring("gradient of layer 6 ("));
}

// The others ask for it while they wait, and the answers come when nobody asks any more.
TEST_CASE("a rank that comes late is waited for, and 200 operations follow") {
  GpuRanks& ranks = gpu_ranks(2);
  BothPlanes planes(ranks);
  TensorPlane& nccl = planes.nccl;
  const int n = nccl.size();
  for (const bool connected : {false, true}) {
    INFO("connected " << connected);
    at::Tensor x = at::ones({1 << 20}, ranks.gpu());
    if (nccl.rank() == n - 1) std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    nccl.all_reduce(x, "gradient of layer 3").wait();
    CHECK(x.eq(n).all().item<bool>());
  }
  for (int i = 0; i < 200; ++i) {
    at::Tensor sum = at::full({1000 + i}, 1.0 + i, ranks.gpu()), whole = at::zeros({8 * n}, ranks.gpu());
    Transfer reduced = nccl.all_reduce(sum, concat("sum ", i));
    nccl.all_gather(at::full({8}, 1.0 * nccl.rank(), ranks.gpu()), whole, concat("whole ", i)).wait();
    reduced.wait();
    CHECK(sum.eq((1.0 + i) * n).all().item<bool>());
    CHECK(whole[8 * n - 1].item<double>() == n - 1);
  }
  CHECK(message_of([&] { compare_entered(nccl, planes.control); }) == "nothing was thrown");
}

TEST_CASE("a rank that does not come is named in time") {
  GpuRanks& ranks = gpu_ranks(2);
  ControlPlane& control = ranks.control;
  const int late = control.size() - 1;
  BothPlanes planes(ranks);
  planes.nccl.set_wait_limit(kPatience_s);
  if (control.rank() != late) {
    at::Tensor x = at::ones({100}, ranks.gpu());
    const Stopwatch watch;
    const std::string message = message_of([&] { planes.nccl.all_reduce(x, "gradient of layer 3").wait(); });
    CHECK(watch.seconds() >= kPatience_s);
    CHECK(watch.seconds() < kPatience_s + 20);
    CHECK_THAT(message, ContainsSubstring(concat("rank ", control.rank(), " waited")) &&
                            ContainsSubstring("all-reduce of gradient of layer 3") &&
                            ContainsSubstring(concat("rank ", late, ", which did not come")));
    CHECK_THROWS_AS(planes.nccl.all_reduce(x, "another"), Error);
  }
  control.barrier();
}

// The last rank comes, but its GPU is busy for longer than the others wait: theirs are inside NCCL's kernel.
TEST_CASE("an operation that hangs on the GPU is aborted, and the rank goes on", "[abort]") {
  GpuRanks& ranks = gpu_ranks(2);
  ControlPlane& control = ranks.control;
  const bool busy = control.rank() == control.size() - 1;
  {
    BothPlanes planes(ranks);
    TensorPlane& nccl = planes.nccl;
    at::Tensor x = at::ones({1 << 22}, ranks.gpu());
    nccl.all_reduce(x, "connects").wait();
    nccl.set_wait_limit(busy ? 8 : kPatience_s);
    const Stopwatch watch;
    const std::string message = message_of([&] {
      if (busy) at::cuda::sleep(4 * kClocksPerSecond);
      nccl.all_reduce(x, "gradient of layer 5").wait();
    });
    const double seconds = watch.seconds();
    CHECK(seconds < 30);
    if (!busy)
      CHECK_THAT(message, ContainsSubstring("all-reduce of gradient of layer 5") &&
                              ContainsSubstring("which does not finish"));
    std::cout << concat("rank ", control.rank(), " gave up a hanging operation after ", seconds,
                        " s: ", message, "\n");
    // NCCL lets the busy rank out of the operation whose peer has left it, with whatever is in its memory. It
    // cannot go on with that: to the next operation the other does not come.
    nccl.set_wait_limit(kPatience_s);
    CHECK_THROWS_AS(nccl.all_reduce(x, "another").wait(), Error);
  }
  control.barrier();
  BothPlanes again(ranks);
  at::Tensor x = at::ones({1 << 20}, ranks.gpu());
  again.nccl.all_reduce(x, "after the abort").wait();
  CHECK(x.eq(control.size()).all().item<bool>());
}

TEST_CASE("ranks that would share a GPU are refused with the numbers") {
  GpuRanks& ranks = gpu_ranks(2);
  const std::string message =
      message_of([&] { NcclTensorPlane(ranks.session, ranks.control, at::Device(at::kCUDA, 0)).poll(); });
  CHECK_THAT(message, ContainsSubstring("ranks 0 and 1 would share GPU 0") &&
                          ContainsSubstring(concat("has ", ranks.control.ranks_on_host(), " ranks")));
  ranks.control.barrier();
}
