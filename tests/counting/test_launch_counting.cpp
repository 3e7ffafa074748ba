// Counters of real kernels against what can be worked out by hand.
#include <catch2/catch_test_macros.hpp>
#include <utility>

#include "tests/counting/counted_kernel.h"

namespace bicrl {

using testing::CountedKernel;

namespace {

constexpr int kN = 1 << 16;

const char* const kElementwise = R"(
  extern "C" __global__ void coalesced(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * 2.0f;
  }
  extern "C" __global__ void strided(const float* x, float* y, int n, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = (int)((long long)i * stride % n);
    if (i < n) y[j] = x[j] * 2.0f;
  }
  extern "C" __global__ void wide(const float4* x, float4* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { float4 v = x[i]; v.x *= 2; v.y *= 2; v.z *= 2; v.w *= 2; y[i] = v; }
  })";

}  // namespace

TEST_CASE("a coalesced access is four sectors, a strided one thirty-two") {
  CountedKernel run(kElementwise);
  const uint64_t x = run.floats(kN), y = run.runner.reserve(kN * 4);
  const LaunchCounters a = run.launch("coalesced", {kN / 256, 1, 1}, {256, 1, 1}, x, y, kN);
  CHECK(a.blocks == kN / 256);
  CHECK(a.load_requests == kN / 32);
  CHECK(a.load_sectors == kN / 8);
  CHECK(a.store_sectors == kN / 8);
  CHECK(a.cold_sectors == kN / 8);
  CHECK(a.written_sectors == kN / 8);
  CHECK(a.l2_load_sectors == kN / 8);
  CHECK(a.served_by_memory == kN / 32);
  CHECK(a.executed_lanes == 32 * a.executed);
  CHECK(a.diverged == 0);
  CHECK(a.chains.accesses == a.blocks);
  const LaunchCounters b = run.launch("strided", {kN / 256, 1, 1}, {256, 1, 1}, x, y, kN, 33);
  CHECK(b.load_sectors == kN);
  CHECK(b.store_sectors == kN);
  CHECK(b.cold_sectors == 0);  // the launch before has read it all
  CHECK(b.distinct_read_sectors() == kN / 8);
  const LaunchCounters c = run.launch("wide", {kN / 1024, 1, 1}, {256, 1, 1}, x, y, kN / 4);
  CHECK(c.load_requests == kN / 128);
  CHECK(c.load_sectors == kN / 8);
  CHECK(c.executed < a.executed / 2);
}

TEST_CASE("counters are the same whatever the seed of addresses and order") {
  std::vector<LaunchCounters> first;
  for (const uint64_t seed : {0, 1, 77}) {
    CountedKernel run(kElementwise, seed);
    const uint64_t x = run.floats(kN), y = run.runner.reserve(kN * 4);
    run.launch("coalesced", {kN / 256, 1, 1}, {256, 1, 1}, x, y, kN);
    run.launch("strided", {kN / 256, 1, 1}, {256, 1, 1}, x, y, kN, 33);
    std::vector<LaunchCounters> launches = run.counting.launches();
    CHECK((first.empty() || launches[0] == first[0]));
    // Who comes first to a sector that several blocks read is a matter of their order.
    launches[1].served_by_l2 += std::exchange(launches[1].served_by_memory, 0);
    if (first.empty()) first = launches;
    CHECK((launches == first));
  }
}

TEST_CASE("bank conflicts are wavefronts") {
  CountedKernel run(R"(
    extern "C" __global__ void conflict(float* y, int stride) {
      __shared__ float tile[32 * 33];
      for (int i = threadIdx.x; i < 32 * 33; i += 32) tile[i] = i;
      __syncthreads();
      y[threadIdx.x] = tile[threadIdx.x * stride];
    }
    extern "C" __global__ void wide(float4* y) {
      __shared__ float4 tile[32];
      tile[threadIdx.x] = make_float4(1, 2, 3, 4);
      __syncthreads();
      y[threadIdx.x] = tile[31 - threadIdx.x];
    }
    extern "C" __global__ void same(int* y) {
      __shared__ int sums[4];
      if (threadIdx.x < 4) sums[threadIdx.x] = 0;
      __syncthreads();
      atomicAdd(&sums[threadIdx.x % 4], (int)threadIdx.x);
      __syncthreads();
      y[threadIdx.x] = sums[threadIdx.x % 4];
    })");
  const uint64_t y = run.runner.reserve(4096);
  // 33 rows are written without a conflict.
  for (const auto& [stride, wavefronts] :
       {std::pair{1, 1U}, {2, 2U}, {4, 4U}, {32, 32U}, {33, 1U}, {0, 1U}}) {
    const LaunchCounters c = run.launch("conflict", {1, 1, 1}, {32, 1, 1}, y, stride);
    INFO("stride " << stride);
    CHECK(c.shared_wavefronts == 33 + wavefronts);
  }
  CHECK(run.launch("wide", {1, 1, 1}, {32, 1, 1}, y).shared_wavefronts == 8);
  const LaunchCounters c = run.launch("same", {1, 1, 1}, {32, 1, 1}, y);
  CHECK(c.shared_atomic_passes == 7);  // eight lanes at each address
}

TEST_CASE("atomics are counted, and those on one address apart") {
  CountedKernel run(R"(
    extern "C" __global__ void add(int* y, int mask) {
      atomicAdd(&y[(blockIdx.x * blockDim.x + threadIdx.x) & mask], (int)threadIdx.x);
    })");
  const uint64_t y = run.runner.upload(std::vector<int>(1024, 0));
  const LaunchCounters one = run.launch("add", {4, 1, 1}, {256, 1, 1}, y, 1);
  CHECK(one.global_atomics == 1024);
  CHECK(one.hottest_atomics == 512);
  CHECK(one.atomic_sectors == 32);
  const LaunchCounters spread = run.launch("add", {4, 1, 1}, {256, 1, 1}, y, 1023);
  CHECK(spread.hottest_atomics == 1);
  CHECK(spread.atomic_sectors == 128);
}

TEST_CASE("a warp that parts runs both ways with some of its lanes") {
  CountedKernel run(R"(
    extern "C" __global__ void part(float* y, int by) {
      float v = threadIdx.x;
      if (threadIdx.x / by % 2) for (int i = 0; i < 64; ++i) v = v * v + y[i];
      else for (int i = 0; i < 64; ++i) v = v / (v + y[i]);
      y[64 + threadIdx.x] = v;
    })");
  const uint64_t y = run.floats(1024);
  const LaunchCounters by_lane = run.launch("part", {1, 1, 1}, {256, 1, 1}, y, 1);
  const LaunchCounters by_warp = run.launch("part", {1, 1, 1}, {256, 1, 1}, y, 32);
  CHECK(by_warp.diverged == 0);
  CHECK(by_lane.diverged > by_lane.executed / 2);
  CHECK(by_lane.executed > by_warp.executed * 3 / 2);
  CHECK(by_lane.executed_lanes == by_warp.executed_lanes);
}

TEST_CASE("what waits for each other is a chain, what does not is none") {
  CountedKernel run(R"(
    extern "C" __global__ void chase(const int* __restrict__ next, int* y) {
      int at = threadIdx.x;
      at = next[at]; at = next[at]; at = next[at]; at = next[at];
      y[threadIdx.x] = at;
    }
    extern "C" __global__ void gather(const int* __restrict__ x, int* y) {
      y[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x + 32] + x[threadIdx.x + 64] + x[threadIdx.x + 96];
    })");
  std::vector<int> next(1024);
  for (size_t i = 0; i < next.size(); ++i) next[i] = static_cast<int>((i * 5 + 1) % next.size());
  const uint64_t x = run.runner.upload(next), y = run.runner.reserve(4096);
  CHECK(run.launch("chase", {1, 1, 1}, {32, 1, 1}, x, y).chains.accesses == 4);
  CHECK(run.launch("gather", {1, 1, 1}, {32, 1, 1}, x, y).chains.accesses == 1);
}

TEST_CASE("lines of the text have their share") {
  CountedKernel run(
      "extern \"C\" __global__ void f(float* x, int stride) {\n"
      "  float v = x[threadIdx.x];\n"
      "  v += x[threadIdx.x * stride];\n"
      "  x[threadIdx.x] = v;\n"
      "}\n");
  const LaunchCounters c = run.launch("f", {1, 1, 1}, {32, 1, 1}, run.floats(4096), 64);
  REQUIRE_FALSE(c.lines.empty());
  CHECK(c.lines[0].line == 3);
  CHECK(c.lines[0].global_sectors == 32);
}

}  // namespace bicrl
