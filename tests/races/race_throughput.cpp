// What looking for races costs; not a test:  test_races "[throughput]"
#include <catch2/catch_test_macros.hpp>
#include <iostream>

#include "common/clock.h"
#include "sandbox/interpreter/races/race_detector.h"
#include "tests/ptx/kernel_runner.h"

namespace bicrl::races {
namespace {

using ptx::testing::KernelRunner;

struct Mode {
  const char* name;
  bool shadows, detector;
};
constexpr Mode kModes[] = {{"plain", false, false},
                           {"with definedness", true, false},
                           {"with races", false, true},
                           {"with definedness and races", true, true}};

}  // namespace

TEST_CASE("what looking for races costs", "[.throughput]") {
  const std::string text = R"(
    extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) c[i] = a[i] + b[i];
    }
    extern "C" __global__ void gelu(const float* a, const float* b, float* c, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) { float x = a[i]; c[i] = 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))); }
    }
    extern "C" __global__ void multiply(const float* a, const float* b, float* c, int n) {
      __shared__ float ta[16][16], tb[16][16];
      int x = threadIdx.x % 16, y = threadIdx.x / 16, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
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
  struct Work {
    const char* kernel;
    ptx::Dim3 grid;
    int n;
  };
  for (const Work& work : {Work{"add", {1 << 14, 1, 1}, 1 << 22}, Work{"gelu", {1 << 14, 1, 1}, 1 << 22},
                           Work{"multiply", {64, 8, 1}, 1024}}) {
    double plain = 0;
    for (const Mode& mode : kModes) {
      KernelRunner runner(text, {.shadows = mode.shadows, .compiler_options = {}, .limits = {}, .ptx = ""});
      const std::vector<float> a(1 << 22, 0.5F);
      const uint64_t x = runner.upload(a), c = runner.reserve(4 << 22);
      RaceDetector detector;
      if (mode.detector) runner.observer = &detector;
      const Stopwatch watch;
      REQUIRE(!runner.launch(work.kernel, work.grid, {256, 1, 1}, 0, x, x, c, work.n));
      const double seconds = watch.seconds();
      if (plain == 0) plain = seconds;
      std::cout << work.kernel << " " << mode.name << ": " << seconds << " s, " << seconds / plain
                << " times plain\n";
      CHECK(detector.races().empty());
    }
  }
}

}  // namespace bicrl::races
