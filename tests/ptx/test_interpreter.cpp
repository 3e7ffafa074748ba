// Kernels as people write them, against loops on the host.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <numeric>

#include "common/rng.h"
#include "tests/ptx/kernel_runner.h"

namespace bicrl::ptx {
namespace {

using testing::fault_text;
using testing::KernelRunner;

std::vector<float> random_floats(size_t count, uint64_t seed) {
  std::vector<float> values(count);
  uint64_t word = seed;
  for (float& value : values) {
    word = mix_key({word, 7});
    value = static_cast<float>(word >> 40) / (1 << 23) - 1.0F;
  }
  return values;
}

}  // namespace

TEST_CASE("a sum of vectors, over lengths that fill no block") {
  KernelRunner runner(R"(
    extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) c[i] = a[i] + 2.0f * b[i];
    })");
  for (const int n : {1, 31, 33, 1000}) {
    const auto a = random_floats(static_cast<size_t>(n), 1), b = random_floats(static_cast<size_t>(n), 2);
    const uint64_t c = runner.reserve(static_cast<uint64_t>(n) * 4);
    for (const uint32_t threads : {32U, 100U, 256U, 1024U}) {
      const auto blocks = static_cast<uint32_t>(n + static_cast<int>(threads) - 1) / threads;
      REQUIRE(fault_text(runner.launch("add", {blocks, 1, 1}, {threads, 1, 1}, 0, runner.upload(a),
                                       runner.upload(b), c, n)) == "");
      const auto found = runner.download<float>(c);
      for (size_t i = 0; i < a.size(); ++i) REQUIRE(found[i] == std::fma(2.0F, b[i], a[i]));
    }
  }
}

TEST_CASE("a tiled product of matrices") {
  KernelRunner runner(R"(
    template <int T> __global__ void multiply(const float* a, const float* b, float* c, int n) {
      __shared__ float ta[T][T], tb[T][T];
      int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * T + y, column = blockIdx.x * T + x;
      float sum = 0;
      for (int k = 0; k < (n + T - 1) / T; ++k) {
        ta[y][x] = row < n && k * T + x < n ? a[row * n + k * T + x] : 0;
        tb[y][x] = column < n && k * T + y < n ? b[(k * T + y) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < T; ++i) sum += ta[y][i] * tb[i][x];
        __syncthreads();
      }
      if (row < n && column < n) c[row * n + column] = sum;
    }
    template __global__ void multiply<16>(const float*, const float*, float*, int);)");
  const int n = 50;
  const auto a = random_floats(n * n, 1), b = random_floats(n * n, 2);
  const uint64_t c = runner.reserve(n * n * 4);
  REQUIRE(fault_text(runner.launch("_Z8multiplyILi16EEvPKfS1_Pfi", {4, 4, 1}, {16, 16, 1}, 0,
                                   runner.upload(a), runner.upload(b), c, n)) == "");
  const auto found = runner.download<float>(c);
  for (int row = 0; row < n; ++row)
    for (int column = 0; column < n; ++column) {
      float sum = 0;
      for (int k = 0; k < n; ++k)
        sum = std::fma(a[static_cast<size_t>(row * n + k)], b[static_cast<size_t>(k * n + column)], sum);
      REQUIRE(found[static_cast<size_t>(row * n + column)] == sum);
    }
}

TEST_CASE("a softmax with shuffles, dynamic shared memory and special functions") {
  KernelRunner runner(R"(
    __device__ float over_warp(float v, bool max) {
      for (int d = 16; d > 0; d /= 2) {
        float o = __shfl_xor_sync(0xffffffff, v, d);
        v = max ? fmaxf(v, o) : v + o;
      }
      return v;
    }
    extern "C" __global__ void softmax(const float* in, float* out, int columns) {
      extern __shared__ float part[];
      const float* row = in + blockIdx.x * columns;
      int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
      float most = -1e30f;
      for (int i = threadIdx.x; i < columns; i += blockDim.x) most = fmaxf(most, row[i]);
      most = over_warp(most, true);
      if (lane == 0) part[warp] = most;
      __syncthreads();
      most = over_warp(lane < warps ? part[lane] : -1e30f, true);
      __syncthreads();
      float sum = 0;
      for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(row[i] - most);
      sum = over_warp(sum, false);
      if (lane == 0) part[warp] = sum;
      __syncthreads();
      sum = over_warp(lane < warps ? part[lane] : 0.0f, false);
      for (int i = threadIdx.x; i < columns; i += blockDim.x)
        out[blockIdx.x * columns + i] = expf(row[i] - most) / sum;
    })");
  const int columns = 200, rows = 5;
  const auto in = random_floats(columns * rows, 3);
  const uint64_t out = runner.reserve(columns * rows * 4);
  REQUIRE(fault_text(runner.launch("softmax", {rows, 1, 1}, {128, 1, 1}, 4 * 4, runner.upload(in), out,
                                   columns)) == "");
  const auto found = runner.download<float>(out);
  for (int row = 0; row < rows; ++row) {
    double sum = 0;
    for (int i = 0; i < columns; ++i)
      sum += std::exp(static_cast<double>(in[static_cast<size_t>(row * columns + i)]));
    for (int i = 0; i < columns; ++i) {
      const auto at = static_cast<size_t>(row * columns + i);
      REQUIRE(std::abs(found[at] - std::exp(static_cast<double>(in[at])) / sum) < 1e-7);
    }
  }
}

TEST_CASE("lanes part at loops and switches of their own length, and meet again") {
  KernelRunner runner(R"(
    extern "C" __global__ void collatz(int* steps, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      unsigned long long v = i + 1;
      int count = 0;
      while (v != 1) {
        switch (v % 4) {
          case 0: v /= 4; count += 2; break;
          case 1: case 3: v = 3 * v + 1; ++count; break;
          default: v /= 2; ++count;
        }
      }
      steps[i] = count;
    })");
  const int n = 600;
  const uint64_t steps = runner.reserve(n * 4);
  REQUIRE(fault_text(runner.launch("collatz", {2, 1, 1}, {512, 1, 1}, 0, steps, n)) == "");
  const auto found = runner.download<int>(steps);
  for (int i = 0; i < n; ++i) {
    int count = 0;
    for (uint64_t v = static_cast<uint64_t>(i) + 1; v != 1; ++count) v = v % 2 ? 3 * v + 1 : v / 2;
    REQUIRE(found[static_cast<size_t>(i)] == count);
  }
}

TEST_CASE("atomics, locks and flags between lanes, warps and blocks") {
  KernelRunner runner(R"(
    extern "C" __global__ void histogram(const int* values, int* bins, int n) {
      __shared__ int mine[16];
      if (threadIdx.x < 16) mine[threadIdx.x] = 0;
      __syncthreads();
      for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[values[i]], 1);
      __syncthreads();
      if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
    }
    extern "C" __global__ void locked(int* lock, int* count) {
      bool done = false;
      while (!done)
        if (atomicCAS(lock, 0, 1) == 0) {
          int old = *(volatile int*)count;
          *(volatile int*)count = old + 1;
          __threadfence();
          atomicExch(lock, 0);
          done = true;
        }
    }
    extern "C" __global__ void chain(volatile int* flags, int* out) {
      __shared__ int carry;
      if (threadIdx.x == 0) {
        if (blockIdx.x > 0) while (flags[blockIdx.x - 1] == 0) {}
        carry = blockIdx.x > 0 ? flags[blockIdx.x - 1] : 1;
        __threadfence();
        flags[blockIdx.x] = carry + 1;
      }
      __syncthreads();
      out[blockIdx.x * blockDim.x + threadIdx.x] = carry;
    })");
  std::vector<int> values(5000), expected(16);
  for (size_t i = 0; i < values.size(); ++i)
    ++expected[static_cast<size_t>(values[i] = static_cast<int>(i * i % 13))];
  const uint64_t bins = runner.upload(std::vector<int>(16));
  REQUIRE(fault_text(
              runner.launch("histogram", {7, 1, 1}, {96, 1, 1}, 0, runner.upload(values), bins, 5000)) == "");
  CHECK(runner.download<int>(bins) == expected);

  const uint64_t count = runner.upload(std::vector<int>{0});
  REQUIRE(fault_text(runner.launch("locked", {3, 1, 1}, {300, 1, 1}, 0, runner.upload(std::vector<int>{0}),
                                   count)) == "");
  CHECK(runner.download<int>(count)[0] == 900);

  const uint64_t out = runner.reserve(40 * 64 * 4);
  REQUIRE(fault_text(runner.launch("chain", {40, 1, 1}, {64, 1, 1}, 0, runner.upload(std::vector<int>(40)),
                                   out)) == "");
  const auto found = runner.download<int>(out);
  for (size_t i = 0; i < found.size(); ++i) REQUIRE(found[i] == static_cast<int>(i / 64) + 1);
}

// Loads and stores look at the addresses of a register once; atomics and copies look at them for themselves.
TEST_CASE("a load behind an atomic operation or a copy at the same address reads that address") {
  KernelRunner runner(R"(
    extern "C" __global__ void both(int* a, int* b, int* out) {
      __shared__ int stage[32];
      int t = threadIdx.x;
      unsigned s = (unsigned)__cvta_generic_to_shared(stage + t);
      int got, copied;
      b[t] = -t;  // another address in the same place
      __syncthreads();
      asm volatile("{.reg .b32 x; atom.global.add.s32 x, [%1], 1; ld.global.s32 %0, [%1];}" : "=r"(got) : "l"(a + t) : "memory");
      __syncthreads();
      b[t] = -2 * t;
      __syncthreads();
      asm volatile("cp.async.ca.shared.global [%1], [%2], 4; cp.async.wait_all; ld.shared.s32 %0, [%1];" : "=r"(copied) : "r"(s), "l"(a + t) : "memory");
      out[t] = got * 1000 + copied;
    })");
  std::vector<int> a(32);
  std::iota(a.begin(), a.end(), 100);
  const uint64_t out = runner.reserve(128);
  REQUIRE(fault_text(runner.launch("both", {1, 1, 1}, {32, 1, 1}, 0, runner.upload(a), runner.reserve(128),
                                   out)) == "");
  const auto found = runner.download<int>(out);
  for (size_t i = 0; i < 32; ++i) CHECK(found[i] == (a[i] + 1) * 1001);
}

}  // namespace bicrl::ptx
