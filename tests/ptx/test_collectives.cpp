// Barriers, warp collectives (shuffles, votes, matches, reductions), and calls.
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <set>

#include "tests/ptx/kernel_runner.h"

namespace bicrl::ptx {
namespace {

using testing::fault_text;
using testing::KernelRunner;

}  // namespace

TEST_CASE("which threads of a large block go first is secret") {
  KernelRunner runner(R"(
    extern "C" __global__ void first(unsigned* tickets, unsigned* out) {
      if (threadIdx.x % 256 == 0 && atomicAdd(tickets + blockIdx.x, 1) == 0) out[blockIdx.x] = threadIdx.x;
    })",
                      {.shadows = true, .seed = 5, .compiler_options = {}, .limits = {}, .ptx = ""});
  const uint64_t tickets = runner.upload(std::vector<uint32_t>(64)), out = runner.reserve(64 * 4);
  REQUIRE(fault_text(runner.launch("first", {64, 1, 1}, {1024, 1, 1}, 0, tickets, out)) == "");
  std::set<uint32_t> seen;
  for (const uint32_t thread : runner.download<uint32_t>(out)) seen.insert(thread);
  CHECK(seen == std::set<uint32_t>{0, 256, 512, 768});
}

TEST_CASE("with warps taken apart a missing barrier shows in the answer, and a present one holds") {
  const std::string text = R"(
    template <bool kBarrier> __device__ void pass(unsigned* out) {
      __shared__ unsigned box[256];
      unsigned t = threadIdx.x, sum = 0;
      for (unsigned round = 0; round < 8; ++round) {
        box[t] = 1000 * round + t;
        if (kBarrier) __syncthreads();
        sum = 3 * sum + box[(t + 96) % 256];
        if (kBarrier) __syncthreads();
      }
      out[blockIdx.x * 256 + t] = sum;
    }
    extern "C" __global__ void with_barrier(unsigned* out) { pass<true>(out); }
    extern "C" __global__ void without(unsigned* out) { pass<false>(out); })";
  std::set<std::vector<uint32_t>> with_barrier, without;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    KernelRunner runner(text, {.shadows = false,
                               .seed = 3 * seed,  // one launch of three
                               .warps_apart = true,
                               .compiler_options = {},
                               .limits = {},
                               .ptx = ""});
    const uint64_t out = runner.reserve(4 * 256 * 4);
    REQUIRE(fault_text(runner.launch("with_barrier", {4, 1, 1}, {256, 1, 1}, 0, out)) == "");
    with_barrier.insert(runner.download<uint32_t>(out));
    REQUIRE(fault_text(runner.launch("without", {4, 1, 1}, {256, 1, 1}, 0, out)) == "");
    without.insert(runner.download<uint32_t>(out));
  }
  CHECK(with_barrier.size() == 1);
  CHECK(without.size() == 8);
  KernelRunner runner(text);
  const uint64_t out = runner.reserve(4 * 256 * 4);
  REQUIRE(fault_text(runner.launch("with_barrier", {4, 1, 1}, {256, 1, 1}, 0, out)) == "");
  CHECK(with_barrier.contains(runner.download<uint32_t>(out)));
}

TEST_CASE("parts of warps meet at barriers of the block and at counted ones, and vote there") {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    KernelRunner runner(R"(
      extern "C" __global__ void meet(unsigned* out) {
        __shared__ unsigned box[800], more[320];
        unsigned t = threadIdx.x;
        if (t >= 790) return;
        box[t] = t;
        int some = __syncthreads_count(t % 3 == 0);
        unsigned other = box[789 - t];
        if (t < 320) {
          more[t] = 7 * t;
          asm volatile("bar.sync 1, 320;" ::: "memory");
          other += more[319 - t];
        }
        out[t] = other + 10000 * some;
      })",
                        {.shadows = true,
                         .seed = 3 * seed,
                         .warps_apart = true,
                         .compiler_options = {},
                         .limits = {},
                         .ptx = ""});
    const uint64_t out = runner.reserve(800 * 4);
    REQUIRE(fault_text(runner.launch("meet", {1, 1, 1}, {800, 1, 1}, 0, out)) == "");
    const auto found = runner.download<uint32_t>(out);
    for (uint32_t t = 0; t < 790; ++t)
      REQUIRE(found[t] == 789 - t + (t < 320 ? 7 * (319 - t) : 0) + 10000 * 264);
  }
}

TEST_CASE("halves of a warp at two barriers are a fault, threads that have left are none") {
  KernelRunner runner(R"(
    extern "C" __global__ void halves(unsigned* out) {
      if (threadIdx.x < 16) __syncthreads();
      out[threadIdx.x] = 1;
      __syncthreads();
    }
    extern "C" __global__ void trips(unsigned* out) {
      for (unsigned i = 0; i < threadIdx.x % 4; ++i) {
        out[threadIdx.x] = i;
        __syncthreads();
      }
      __syncthreads();
    }
    extern "C" __global__ void warps_apart(unsigned* out) {
      if (threadIdx.x < 32) __syncthreads();
      else { out[threadIdx.x] = 1; __syncthreads(); }
    }
    extern "C" __global__ void leave(unsigned* out) {
      if (threadIdx.x % 32 > 20) return;
      __syncthreads();
      out[threadIdx.x] = 1;
    })");
  const uint64_t out = runner.reserve(64 * 4);
  for (const char* kernel : {"halves", "trips"}) {
    const std::string fault = fault_text(runner.launch(kernel, {1, 1, 1}, {64, 1, 1}, 0, out));
    INFO(kernel << ": " << fault);
    CHECK(fault.find("barrier: lanes of one warp wait at different __syncthreads()") == 0);
  }
  for (const char* kernel : {"warps_apart", "leave"})
    CHECK(fault_text(runner.launch(kernel, {1, 1, 1}, {64, 1, 1}, 0, out)) == "");
}

TEST_CASE("with warps taken apart, updates are lost that are not atomic as a whole") {
  std::set<std::vector<uint32_t>> right, exchanged, skipped, in_block;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    KernelRunner runner(R"(
      extern "C" __global__ void add(unsigned* sum) {
        if (threadIdx.x == 0) atomicAdd(sum, blockIdx.x);
      }
      extern "C" __global__ void exchange(unsigned* sum) {
        if (threadIdx.x == 0) atomicExch(sum, atomicAdd(sum, 0) + blockIdx.x);
      }
      extern "C" __global__ void skip(unsigned* sum) {
        if (threadIdx.x != 0 || atomicCAS(sum + 1, 0, 1) != 0) return;
        sum[0] += blockIdx.x;
        __threadfence();
        atomicExch(sum + 1, 0);
      }
      extern "C" __global__ void within(unsigned* sum) {
        __shared__ unsigned total;
        if (threadIdx.x == 0) atomicExch(&total, 0);
        __syncthreads();
        atomicExch(&total, atomicAdd(&total, 0) + threadIdx.x / 32);
        __syncthreads();
        if (threadIdx.x == 0 && blockIdx.x == 0) *sum = atomicAdd(&total, 0);
      })",
                        {.shadows = false,
                         .seed = seed,
                         .warps_apart = true,
                         .compiler_options = {},
                         .limits = {},
                         .ptx = ""});
    const auto run = [&](const char* kernel, std::set<std::vector<uint32_t>>& found) {
      const uint64_t sum = runner.upload(std::vector<uint32_t>{0, 0});
      REQUIRE(fault_text(runner.launch(kernel, {40, 1, 1}, {512, 1, 1}, 0, sum)) == "");
      found.insert(runner.download<uint32_t>(sum));
    };
    run("add", right);
    run("exchange", exchanged);
    run("skip", skipped);
    run("within", in_block);
  }
  CHECK(right == std::set<std::vector<uint32_t>>{{780, 0}});
  CHECK(!exchanged.contains({780, 0}));
  CHECK(!skipped.contains({780, 0}));
  CHECK(in_block.size() > 1);
}

TEST_CASE("with warps taken apart, updates of the same word meet wherever their blocks lie in the grid") {
  KernelRunner runner(
      R"(
    // A swap that is not tried again, by blocks that share a word `rows` apart, or side by side.
    template <bool kApart> __device__ void add(unsigned* sums, unsigned rows, unsigned work) {
      if (threadIdx.x != 0) return;
      unsigned row = kApart ? blockIdx.x % rows : blockIdx.x / (gridDim.x / rows), part = 0;
      for (unsigned i = 0; i < work; ++i) part += __popc(part + i) + 1;
      unsigned seen = atomicAdd(sums + row, 0);
      atomicCAS(sums + row, seen, seen + (part != 0));
    }
    extern "C" __global__ void apart(unsigned* sums, unsigned rows, unsigned work) { add<true>(sums, rows, work); }
    extern "C" __global__ void aside(unsigned* sums, unsigned rows, unsigned work) { add<false>(sums, rows, work); })",
      {.shadows = false, .seed = 1, .warps_apart = true, .compiler_options = {}, .limits = {}, .ptx = ""});
  for (const char* kernel : {"apart", "aside"})
    for (const uint32_t rows : {1U, 24U, 256U})
      for (const uint32_t work : {1U, 40U, 300U})
        for (uint64_t seed = 1; seed <= 6; ++seed) {
          INFO(kernel << ", rows " << rows << ", work " << work << ", seed " << seed);
          runner.reseed(seed);
          const uint64_t sums = runner.upload(std::vector<uint32_t>(rows));
          REQUIRE(fault_text(runner.launch(kernel, {rows * 32, 1, 1}, {32, 1, 1}, 0, sums, rows, work)) ==
                  "");
          CHECK(runner.download<uint32_t>(sums) != std::vector<uint32_t>(rows, 32));
        }
}

TEST_CASE("with warps taken apart, warps that wait for their turn get it") {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    KernelRunner runner(R"(
      extern "C" __global__ void turns(unsigned* out) {
        __shared__ volatile unsigned turn;
        __shared__ unsigned sum;
        unsigned t = threadIdx.x;
        if (t == 0) turn = sum = 0;
        __syncthreads();
        if (t % 32 == 0) {
          while (turn != t / 32) {}
          __threadfence_block();
          sum = 3 * sum + t;
          __threadfence_block();
          turn = t / 32 + 1;
        }
        __syncthreads();
        if (t == 0) out[blockIdx.x] = sum;
      })",
                        {.shadows = false,
                         .seed = seed,
                         .warps_apart = true,
                         .compiler_options = {},
                         .limits = {.lane_operations = uint64_t{1} << 28},
                         .ptx = ""});
    const uint64_t out = runner.reserve(16 * 4);
    REQUIRE(fault_text(runner.launch("turns", {16, 1, 1}, {256, 1, 1}, 0, out)) == "");
    uint32_t expected = 0;
    for (uint32_t warp = 0; warp < 8; ++warp) expected = 3 * expected + 32 * warp;
    for (const uint32_t found : runner.download<uint32_t>(out)) CHECK(found == expected);
  }
}

TEST_CASE("with warps taken apart, blocks that wait for their turn get it") {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    KernelRunner runner(R"(
      extern "C" __global__ void turns(unsigned* turn, unsigned* order) {
        if (threadIdx.x == 0) {
          while (atomicAdd(turn, 0) != blockIdx.x) {}
          order[blockIdx.x] = blockIdx.x == 0 ? 1 : 3 * order[blockIdx.x - 1] + 1;
          __threadfence();
          atomicExch(turn, blockIdx.x + 1);
        }
        __syncthreads();
      })",
                        {.shadows = false,
                         .seed = seed,
                         .warps_apart = true,
                         .compiler_options = {},
                         .limits = {.lane_operations = uint64_t{1} << 30},
                         .ptx = ""});
    const uint64_t turn = runner.upload(std::vector<uint32_t>(1)), order = runner.reserve(64 * 4);
    REQUIRE(fault_text(runner.launch("turns", {64, 1, 1}, {256, 1, 1}, 0, turn, order)) == "");
    uint32_t expected = 0;
    for (const uint32_t found : runner.download<uint32_t>(order))
      REQUIRE(found == (expected = 3 * expected + 1));
  }
}

TEST_CASE("shuffles of all kinds and widths") {
  KernelRunner runner(R"(
    extern "C" __global__ void shuffles(int* out, int width, int d) {
      int v = 100 + threadIdx.x, t = threadIdx.x;
      out[t] = __shfl_sync(~0u, v, d, width);
      out[32 + t] = __shfl_up_sync(~0u, v, d, width);
      out[64 + t] = __shfl_down_sync(~0u, v, d, width);
      out[96 + t] = __shfl_xor_sync(~0u, v, d, width);
    })");
  const uint64_t out = runner.reserve(128 * 4);
  for (const int width : {2, 8, 16, 32})
    for (const int d : {0, 1, 3, 7, 16, 31}) {
      REQUIRE(fault_text(runner.launch("shuffles", {1, 1, 1}, {32, 1, 1}, 0, out, width, d)) == "");
      const auto found = runner.download<int>(out);
      for (int t = 0; t < 32; ++t) {
        INFO("width " << width << ", " << d << ", lane " << t);
        const int begin = t / width * width, within = t % width;
        const auto at = [&](int group) { return found[static_cast<size_t>(32 * group + t)] - 100; };
        CHECK(at(0) == begin + d % width);
        CHECK(at(1) == (within >= d ? t - d : t));
        CHECK(at(2) == (within + d < width ? t + d : t));
        // The whole lane number is changed; only beyond the end of its own part a lane keeps its value.
        const int other = t ^ d;
        CHECK(at(3) == (other <= begin + width - 1 ? other : t));
      }
    }
}

TEST_CASE("votes, matches, reductions and ballots, also of some lanes") {
  KernelRunner runner(R"(
    extern "C" __global__ void of_all(const int* in, unsigned* out) {
      int v = in[threadIdx.x], t = threadIdx.x;
      out[t] = __ballot_sync(~0u, v & 1);
      out[32 + t] = __any_sync(~0u, v > 6) | __all_sync(~0u, v >= 0) << 1 | __all_sync(~0u, v > 0) << 2;
      out[64 + t] = __match_any_sync(~0u, v);
      int same;
      out[96 + t] = __match_all_sync(~0u, v / 100, &same) & (same ? ~0u : 0);
      out[128 + t] = __reduce_add_sync(~0u, v);
      out[160 + t] = __reduce_min_sync(~0u, v - 3);
      out[192 + t] = __reduce_max_sync(~0u, (unsigned)v);
      out[224 + t] = __reduce_xor_sync(~0u, (unsigned)v);
    }
    extern "C" __global__ void of_some(const int* in, unsigned* out) {
      int t = threadIdx.x;
      unsigned mask = 0xFFu << t / 8 * 8;
      out[t] = __reduce_add_sync(mask, in[t]);
      if (t % 3 == 0) out[32 + t] = __activemask();
      else out[32 + t] = __ballot_sync(__activemask(), t % 2);
    })");
  std::vector<int> in(32);
  for (size_t i = 0; i < 32; ++i) in[i] = static_cast<int>(i * 5 % 8);
  const uint64_t out = runner.reserve(256 * 4);
  REQUIRE(fault_text(runner.launch("of_all", {1, 1, 1}, {32, 1, 1}, 0, runner.upload(in), out)) == "");
  auto found = runner.download<uint32_t>(out);
  uint32_t odd = 0, sum = 0, together = 0;
  for (size_t i = 0; i < 32; ++i) {
    odd |= static_cast<uint32_t>(in[i] & 1) << i;
    sum += static_cast<uint32_t>(in[i]);
    together ^= static_cast<uint32_t>(in[i]);
  }
  for (size_t t = 0; t < 32; ++t) {
    CHECK(found[t] == odd);
    CHECK(found[32 + t] == 3);
    uint32_t alike = 0;
    for (size_t i = 0; i < 32; ++i) alike |= static_cast<uint32_t>(in[i] == in[t]) << i;
    CHECK(found[64 + t] == alike);
    CHECK(found[96 + t] == ~0U);
    CHECK(found[128 + t] == sum);
    CHECK(static_cast<int>(found[160 + t]) == -3);
    CHECK(found[192 + t] == 7);
    CHECK(found[224 + t] == together);
  }
  REQUIRE(fault_text(runner.launch("of_some", {1, 1, 1}, {32, 1, 1}, 0, runner.upload(in), out)) == "");
  found = runner.download<uint32_t>(out);
  for (size_t t = 0; t < 32; ++t) {
    uint32_t part = 0;
    for (size_t i = t / 8 * 8; i < t / 8 * 8 + 8; ++i) part += static_cast<uint32_t>(in[i]);
    CHECK(found[t] == part);
  }
}

TEST_CASE("barriers with counts: two halves of a block hand work to each other") {
  KernelRunner runner(R"(
    extern "C" __global__ void relay(int* out, int rounds) {
      __shared__ int box[32];
      int lane = threadIdx.x % 32;
      for (int r = 0; r < rounds; ++r) {
        if (threadIdx.x < 32) {
          box[lane] = r * 100 + lane;
          asm volatile("bar.arrive 1, 64;" ::: "memory");
          asm volatile("bar.sync 2, 64;" ::: "memory");
        } else {
          asm volatile("bar.sync 1, 64;" ::: "memory");
          out[r * 32 + lane] = box[31 - lane];
          asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
      }
    }
    extern "C" __global__ void votes(int* out) {
      out[threadIdx.x] = __syncthreads_count(threadIdx.x % 3 == 0);
      out[blockDim.x + threadIdx.x] = __syncthreads_and(threadIdx.x < 400) | __syncthreads_or(threadIdx.x == 7) << 1;
    })");
  const uint64_t out = runner.reserve(1000 * 4);
  REQUIRE(fault_text(runner.launch("relay", {1, 1, 1}, {64, 1, 1}, 0, out, 5)) == "");
  auto found = runner.download<int>(out);
  for (int r = 0; r < 5; ++r)
    for (int lane = 0; lane < 32; ++lane)
      CHECK(found[static_cast<size_t>(r * 32 + lane)] == r * 100 + 31 - lane);
  REQUIRE(fault_text(runner.launch("votes", {1, 1, 1}, {500, 1, 1}, 0, out)) == "");
  found = runner.download<int>(out);
  for (size_t t = 0; t < 500; ++t) {
    CHECK(found[t] == 167);
    CHECK(found[500 + t] == 2);
  }
}

TEST_CASE("calls, by name and by address, with structures, arrays in local memory and lanes that part") {
  KernelRunner runner(R"(
    struct Pair { double a; int b[3]; };
    __device__ __noinline__ Pair make(int i) { Pair p; p.a = i * 0.5; p.b[0] = i; p.b[1] = -i; p.b[2] = 7; return p; }
    __device__ __noinline__ int sum(Pair p, int which) { return (int)(p.a * 2) + p.b[which]; }
    __device__ __noinline__ int twice(int x) { return 2 * x; }
    __device__ __noinline__ int thrice(int x) { return 3 * x; }
    __device__ __noinline__ int negative(int x) { return x % 2 ? -x : twice(x); }
    __device__ int (*const table[3])(int) = {twice, thrice, negative};
    struct Shape { __device__ virtual int area(int x) const = 0; };
    struct Square : Shape { __device__ int area(int x) const override { return x * x; } };
    struct Strip : Shape { int w; __device__ Strip(int w) : w(w) {} __device__ int area(int x) const override { return x * w; } };
    extern "C" __global__ void calls(int* out, int n) {
      int t = threadIdx.x;
      Pair p = make(t);
      out[t] = sum(p, t % 3);
      out[n + t] = table[t % 3](t);
      int local[16];
      for (int i = 0; i < 16; ++i) local[i] = i * t;
      int s = 0;
      for (int i = 0; i < t % 16; ++i) s += local[(i * 7 + t) % 16];
      out[2 * n + t] = s;
      Square q; Strip r(t % 4);
      const Shape* shape = t % 2 ? (const Shape*)&q : &r;
      out[3 * n + t] = shape->area(t);
    })");
  const int n = 300;
  const uint64_t out = runner.reserve(4 * n * 4);
  REQUIRE(fault_text(runner.launch("calls", {1, 1, 1}, {n, 1, 1}, 0, out, n)) == "");
  const auto found = runner.download<int>(out);
  for (int t = 0; t < n; ++t) {
    INFO(t);
    const auto at = [&](int part) { return found[static_cast<size_t>(part * n + t)]; };
    CHECK(at(0) == t + (t % 3 == 0 ? t : t % 3 == 1 ? -t : 7));
    CHECK(at(1) == (t % 3 == 0 ? 2 * t : t % 3 == 1 ? 3 * t : t % 2 ? -t : 2 * t));
    int s = 0;
    for (int i = 0; i < t % 16; ++i) s += (i * 7 + t) % 16 * t;
    CHECK(at(2) == s);
    CHECK(at(3) == (t % 2 ? t * t : t * (t % 4)));
  }
}

TEST_CASE("functions that call themselves and each other, to a depth of each lane's own") {
  KernelRunner runner(R"(
    __device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
    __device__ int odd(int n);
    __device__ __noinline__ int even(int n) { return n == 0 ? 1 : odd(n - 1); }
    __device__ __noinline__ int odd(int n) { return n == 0 ? 0 : 1 - even(n) + 0 * n; }
    struct Triple { int a, b, c; };
    __device__ __noinline__ Triple walk(Triple t, int n) {
      if (n == 0) return t;
      Triple u = walk({t.b, t.c, t.a + n}, n - 1);
      return {u.a + t.a, u.b - t.b, u.c};
    }
    __device__ __noinline__ int array(int n) { int x[8]; for (int i = 0; i < 8; ++i) x[i] = n * i; return n < 1 ? x[threadIdx.x % 8] : array(n - 1) + x[n % 8]; }
    extern "C" __global__ void calls(int* out, int n) {
      int t = threadIdx.x;
      out[t] = fibonacci(t % 12);
      Triple w = walk({t, 2, 3}, t % 9);
      out[n + t] = w.a * 10000 + w.b * 100 + w.c;
    }
    extern "C" __global__ void deep(int* out, int n) { out[0] = even(n); }
    extern "C" __global__ void arrays(int* out, int n) { out[0] = array(n); })");
  const int n = 70;
  const uint64_t out = runner.reserve(2 * n * 4);
  REQUIRE(fault_text(runner.launch("calls", {1, 1, 1}, {n, 1, 1}, 0, out, n)) == "");
  const auto found = runner.download<int>(out);
  struct Triple {
    int a, b, c;
  };
  const std::function<Triple(Triple, int)> walk = [&](Triple t, int left) -> Triple {
    if (left == 0) return t;
    const Triple u = walk({t.b, t.c, t.a + left}, left - 1);
    return {u.a + t.a, u.b - t.b, u.c};
  };
  for (int t = 0; t < n; ++t) {
    INFO(t);
    int a = 0, b = 1;
    for (int i = 0; i < t % 12; ++i) std::swap(a, b), b += a;
    CHECK(found[static_cast<size_t>(t)] == a);
    const Triple w = walk({t, 2, 3}, t % 9);
    CHECK(found[static_cast<size_t>(n + t)] == w.a * 10000 + w.b * 100 + w.c);
  }
}

TEST_CASE("variables of the module keep their values from launch to launch") {
  KernelRunner runner(R"(
    __device__ int counter = 5;
    __constant__ float weights[3] = {0.5f, 1.5f, 2.5f};
    __device__ const int* pointer = &counter;
    extern "C" __global__ void count(int* out, float* w) {
      if (threadIdx.x == 0) ++counter;
      __syncthreads();
      out[threadIdx.x] = *pointer;
      w[threadIdx.x] = weights[threadIdx.x % 3];
    })");
  const uint64_t out = runner.reserve(32 * 4), w = runner.reserve(32 * 4);
  for (int launch = 1; launch <= 3; ++launch) {
    REQUIRE(fault_text(runner.launch("count", {1, 1, 1}, {32, 1, 1}, 0, out, w)) == "");
    CHECK(runner.download<int>(out) == std::vector<int>(32, 5 + launch));
  }
  CHECK(runner.download<float>(w)[4] == 1.5F);
}

TEST_CASE("cooperative groups: tiles, blocks, and a small grid") {
  KernelRunner runner(R"(
    #include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void tiles(const int* in, int* out) {
      auto block = cg::this_thread_block();
      auto tile = cg::tiled_partition<8>(block);
      int v = in[block.thread_rank()];
      out[block.thread_rank()] = cg::reduce(tile, v, cg::plus<int>());
      block.sync();
      auto some = cg::coalesced_threads();
      if (v % 2) { auto odd = cg::coalesced_threads(); out[block.thread_rank()] += 1000 * odd.size(); }
    })");
  std::vector<int> in(64);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i * 7 % 10);
  const uint64_t out = runner.reserve(64 * 4);
  REQUIRE(fault_text(runner.launch("tiles", {1, 1, 1}, {64, 1, 1}, 0, runner.upload(in), out)) == "");
  const auto found = runner.download<int>(out);
  for (size_t i = 0; i < in.size(); ++i) {
    int sum = 0, odd = 0;
    for (size_t j = i / 8 * 8; j < i / 8 * 8 + 8; ++j) sum += in[j];
    for (size_t j = i / 32 * 32; j < i / 32 * 32 + 32; ++j) odd += in[j] % 2;
    CHECK(found[i] == sum + (in[i] % 2 ? 1000 * odd : 0));
  }
}

}  // namespace bicrl::ptx
