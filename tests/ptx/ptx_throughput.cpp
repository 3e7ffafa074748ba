// How fast the PTX interpreter is; not a test:  test_ptx "[throughput]"
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

TEST_CASE("a product of fp16 matrices by wmma, 256^3 and 1024^3", "[.throughput]") {
  const std::string text = R"(
    #include <mma.h>
    #include <cuda_fp16.h>
    using namespace nvcuda;
    extern "C" __global__ void multiply(const half* a, const half* b, float* c, int n) {
      int warp = threadIdx.x / 32, row = blockIdx.y * 64 + warp / 4 * 32, column = blockIdx.x * 64 + warp % 4 * 16;
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2];
      for (int i = 0; i < 2; ++i) wmma::fill_fragment(sums[i], 0.0f);
      for (int k = 0; k < n; k += 16) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
        wmma::load_matrix_sync(fb, b + k * n + column, n);
        for (int i = 0; i < 2; ++i) {
          wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
          wmma::load_matrix_sync(fa, a + (row + i * 16) * n + k, n);
          wmma::mma_sync(sums[i], fa, fb, sums[i]);
        }
      }
      for (int i = 0; i < 2; ++i)
        wmma::store_matrix_sync(c + (row + i * 16) * n + column, sums[i], n, wmma::mem_row_major);
    })";
  for (const bool shadows : {false, true})
    for (const uint32_t n : {256U, 1024U}) {
      KernelRunner runner(text, {.shadows = shadows, .compiler_options = {}, .limits = {}, .ptx = ""});
      const uint64_t x = runner.upload(std::vector<_Float16>(size_t{n} * n, static_cast<_Float16>(0.5)));
      const uint64_t c = runner.reserve(uint64_t{n} * n * 4);
      const Stopwatch watch;
      REQUIRE(!runner.launch("multiply", {n / 64, n / 64, 1}, {256, 1, 1}, 0, x, x, c, static_cast<int>(n)));
      const double seconds = watch.seconds();
      std::cout << (shadows ? "with shadows " : "plain ") << n << "^3: " << seconds * 1e3 << " ms, "
                << 2.0 * n * n * n / seconds / 1e9 << " GFLOP/s, " << runner.counters().lane_operations
                << " lane operations counted\n";
    }
}

}  // namespace bicrl::ptx
