// How fast the machine is; not a test:  test_ptx "[throughput]"
#include <catch2/catch_test_macros.hpp>
#include <iostream>

#include "common/clock.h"
#include "tests/ptx/kernel_runner.h"

namespace bicrl::ptx {

using testing::KernelRunner;

TEST_CASE("a tiled product of matrices, 1024^3", "[.throughput]") {
  const std::string text = R"(
    extern "C" __global__ void multiply(const float* a, const float* b, float* c, int n) {
      __shared__ float ta[16][16], tb[16][16];
      int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
      float sum = 0;
      for (int k = 0; k < n / 16; ++k) {
        ta[y][x] = a[row * n + k * 16 + x];
        tb[y][x] = b[(k * 16 + y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += ta[y][i] * tb[i][x];
        __syncthreads();
      }
      c[row * n + column] = sum;
    })";
  const int n = 1024;
  for (const bool shadows : {false, true}) {
    KernelRunner runner(text, {.shadows = shadows, .compiler_options = {}, .limits = {}, .ptx = ""});
    const std::vector<float> a(n * n, 0.5F);
    const uint64_t x = runner.upload(a), c = runner.reserve(n * n * 4);
    const Stopwatch watch;
    const auto fault = runner.launch("multiply", {64, shadows ? 4U : 64U, 1}, {16, 16, 1}, 0, x, x, c, n);
    REQUIRE(!fault);
    const double seconds = watch.seconds();
    std::cout << (shadows ? "with shadows " : "plain ") << seconds << " s, "
              << static_cast<double>(runner.counters().lane_operations) / seconds / 1e9
              << " G lane operations/s, " << runner.counters().lane_operations << "\n";
  }
}

TEST_CASE("a vector sum and a row reduction", "[.throughput]") {
  KernelRunner runner(R"(
    extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) c[i] = a[i] + b[i];
    }
    extern "C" __global__ void gelu(const float* a, float* c, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) { float x = a[i]; c[i] = 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))); }
    })",
                      {.shadows = false, .compiler_options = {}, .limits = {}, .ptx = ""});
  const int n = 1 << 22;
  const std::vector<float> a(n, 0.5F);
  const uint64_t x = runner.upload(a), c = runner.reserve(uint64_t{n} * 4);
  for (const std::string kernel : {"add", "gelu"}) {
    const Stopwatch watch;
    const auto fault = kernel == "add" ? runner.launch("add", {n / 256, 1, 1}, {256, 1, 1}, 0, x, x, c, n)
                                       : runner.launch("gelu", {n / 256, 1, 1}, {256, 1, 1}, 0, x, c, n);
    REQUIRE(!fault);
    const double seconds = watch.seconds();
    std::cout << kernel << " of 4 M: " << seconds << " s, "
              << static_cast<double>(runner.counters().lane_operations) / seconds / 1e9
              << " G lane operations/s\n";
  }
}

}  // namespace bicrl::ptx
