// Slow and fast forms of the same work: the model ranks them as a person who knows GPUs would, on every
// device.
#include <catch2/catch_test_macros.hpp>
#include <functional>

#include "tests/counting/counted_kernel.h"

namespace bicrl {

using testing::CountedKernel;

namespace {

using Form = std::function<void(CountedKernel&)>;

// The fast form beats the slow one by `factor` at least, on all devices.
void check_faster(const std::string& text, const Form& slow, const Form& fast, double factor) {
  CountedKernel a(text), b(text);
  slow(a);
  fast(b);
  for (const DeviceTable& device : device_tables()) {
    const double slow_ms = a.modelled_ms(std::string(device.name)),
                 fast_ms = b.modelled_ms(std::string(device.name));
    INFO(a.report(std::string(device.name)) << b.report(std::string(device.name)));
    CHECK(slow_ms >= factor * fast_ms);
  }
}

}  // namespace

TEST_CASE("coalesced beats strided") {
  const char* text = R"(
    extern "C" __global__ void scale(const float* x, float* y, int n, int stride) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      int j = (int)((long long)i * stride % n);
      if (i < n) y[j] = x[j] * 2.0f;
    })";
  constexpr int n = 1 << 22;
  const auto form = [](int stride) {
    return [stride](CountedKernel& run) {
      const uint64_t x = run.floats(n), y = run.runner.reserve(n * 4);
      run.launch("scale", {n / 256, 1, 1}, {256, 1, 1}, x, y, n, stride);
    };
  };
  check_faster(text, form(1025), form(1), 1.5);
}

TEST_CASE("a tiled product beats a naive one, and one that keeps sums in registers beats both") {
  const char* text = R"(
    extern "C" __global__ void naive(const float* a, const float* b, float* c, int n) {
      int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x];
      c[y * n + x] = sum;
    }
    extern "C" __global__ void tiled(const float* a, const float* b, float* c, int n) {
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
    }
    extern "C" __global__ void blocked(const float* a, const float* b, float* c, int n) {
      __shared__ float ta[16][64], tb[16][64];
      int x = threadIdx.x, y = threadIdx.y, t = y * 16 + x, row = blockIdx.y * 64, column = blockIdx.x * 64;
      float sums[4][4] = {};
      for (int k = 0; k < n; k += 16) {
        for (int i = 0; i < 4; ++i) {
          int e = t + i * 256;
          ta[e % 16][e / 16] = a[(row + e / 16) * n + k + e % 16];
          tb[e / 64][e % 64] = b[(k + e / 64) * n + column + e % 64];
        }
        __syncthreads();
        for (int i = 0; i < 16; ++i) {
          float4 u = *(float4*)&ta[i][y * 4], v = *(float4*)&tb[i][x * 4];
          float p[4] = {u.x, u.y, u.z, u.w}, q[4] = {v.x, v.y, v.z, v.w};
          for (int r = 0; r < 4; ++r) for (int s = 0; s < 4; ++s) sums[r][s] += p[r] * q[s];
        }
        __syncthreads();
      }
      for (int r = 0; r < 4; ++r) for (int s = 0; s < 4; ++s) c[(row + y * 4 + r) * n + column + x * 4 + s] = sums[r][s];
    })";
  constexpr int n = 512;
  const auto form = [](const std::string& name, unsigned tile) {
    return [name, tile](CountedKernel& run) {
      const uint64_t a = run.floats(n * n), c = run.runner.reserve(n * n * 4);
      run.launch(name, {n / tile, n / tile, 1}, {16, 16, 1}, a, a, c, n);
    };
  };
  check_faster(text, form("naive", 16), form("tiled", 16), 1.2);
  check_faster(text, form("tiled", 16), form("blocked", 64), 1.2);
}

TEST_CASE("a fused chain beats two kernels") {
  const char* text = R"(
    extern "C" __global__ void scale(const float* x, float* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = x[i] * 2.0f;
    }
    extern "C" __global__ void relu(const float* x, float* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = fmaxf(x[i], 0.0f);
    }
    extern "C" __global__ void both(const float* x, float* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = fmaxf(x[i] * 2.0f, 0.0f);
    })";
  constexpr int n = 1 << 22;
  check_faster(
      text,
      [](CountedKernel& run) {
        const uint64_t x = run.floats(n), t = run.runner.reserve(n * 4), y = run.runner.reserve(n * 4);
        run.launch("scale", {n / 256, 1, 1}, {256, 1, 1}, x, t, n);
        run.launch("relu", {n / 256, 1, 1}, {256, 1, 1}, t, y, n);
      },
      [](CountedKernel& run) {
        const uint64_t x = run.floats(n), y = run.runner.reserve(n * 4);
        run.launch("both", {n / 256, 1, 1}, {256, 1, 1}, x, y, n);
      },
      1.3);
}

TEST_CASE("wide loads help where loads bound") {
  const char* text = R"(
    extern "C" __global__ void narrow(const float* x, float* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = x[i] + 1.0f;
    }
    extern "C" __global__ void wide(const float4* x, float4* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) { float4 v = x[i]; v.x += 1; v.y += 1; v.z += 1; v.w += 1; y[i] = v; }
    })";
  constexpr int n = 1 << 20;
  const auto form = [](const std::string& name, int width) {
    return [name, width](CountedKernel& run) {
      const uint64_t x = run.floats(n), y = run.runner.reserve(n * 4);
      run.launch(name, {static_cast<uint32_t>(n / width / 256), 1, 1}, {256, 1, 1}, x, y, n / width);
    };
  };
  check_faster(text, form("narrow", 1), form("wide", 4), 1.01);
}

TEST_CASE("a bank conflict costs") {
  const char* text = R"(
    template <int kPad>
    __device__ void transpose_tile(const float* x, float* y, int n) {
      __shared__ float tile[32][32 + kPad];
      int i = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * 32;
      for (int r = threadIdx.y; r < 32; r += 8) tile[r][threadIdx.x] = x[(j + r) * n + i];
      __syncthreads();
      i = blockIdx.y * 32 + threadIdx.x; j = blockIdx.x * 32;
      for (int r = threadIdx.y; r < 32; r += 8) y[(j + r) * n + i] = tile[threadIdx.x][r];
    }
    extern "C" __global__ void conflict(const float* x, float* y, int n) { transpose_tile<0>(x, y, n); }
    extern "C" __global__ void padded(const float* x, float* y, int n) { transpose_tile<1>(x, y, n); })";
  const auto form = [](const std::string& name) {
    return [name](CountedKernel& run) {
      constexpr int n = 1024;
      const uint64_t x = run.floats(n * n), y = run.runner.reserve(n * n * 4);
      run.launch(name, {n / 32, n / 32, 1}, {32, 8, 1}, x, y, n);
    };
  };
  check_faster(text, form("conflict"), form("padded"), 1.02);
}

TEST_CASE("atomics on one address cost more than a reduction in the block before them") {
  const char* text = R"(
    extern "C" __global__ void each(const float* x, float* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) atomicAdd(y, x[i]);
    }
    extern "C" __global__ void reduced(const float* x, float* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      float v = i < n ? x[i] : 0.0f;
      for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
      __shared__ float sums[8];
      if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
      __syncthreads();
      if (threadIdx.x == 0) { for (int w = 1; w < 8; ++w) v += sums[w]; atomicAdd(y, v); }
    })";
  const auto form = [](const std::string& name) {
    return [name](CountedKernel& run) {
      constexpr int n = 1 << 20;
      const uint64_t x = run.floats(n), y = run.floats(1);
      run.launch(name, {n / 256, 1, 1}, {256, 1, 1}, x, y, n);
    };
  };
  check_faster(text, form("each"), form("reduced"), 5);
}

TEST_CASE("one thread that does all the work is slower than all of them") {
  const char* text = R"(
    extern "C" __global__ void alone(const float* __restrict__ x, float* y, int n) {
      float sum = 0;
      if (threadIdx.x == 0) for (int i = 0; i < n; ++i) sum += x[blockIdx.x * n + i];
      if (threadIdx.x == 0) y[blockIdx.x] = sum;
    }
    extern "C" __global__ void together(const float* __restrict__ x, float* y, int n) {
      float sum = 0;
      for (int i = threadIdx.x; i < n; i += 32) sum += x[blockIdx.x * n + i];
      for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
      if (threadIdx.x == 0) y[blockIdx.x] = sum;
    })";
  const auto form = [](const std::string& name) {
    return [name](CountedKernel& run) {
      constexpr int n = 1024, rows = 512;
      const uint64_t x = run.floats(n * rows), y = run.runner.reserve(rows * 4);
      run.launch(name, {rows, 1, 1}, {32, 1, 1}, x, y, n);
    };
  };
  check_faster(text, form("alone"), form("together"), 3);
}

TEST_CASE("more blocks of the same work never cost less, and half the launches are cheaper") {
  const char* text = R"(
    extern "C" __global__ void scale(const float* x, float* y, int first, int n) {
      int i = first + blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = x[i] * 2.0f;
    })";
  double before = 0;
  for (const int n : {256, 1 << 10, 1 << 14, 1 << 17, 1 << 18, 1 << 20, 1 << 21}) {
    CountedKernel run(text);
    const uint64_t x = run.floats(n), y = run.runner.reserve(uint64_t(n) * 4);
    run.launch("scale", {static_cast<uint32_t>(n) / 256, 1, 1}, {256, 1, 1}, x, y, 0, n);
    CHECK(run.modelled_ms() >= before);
    before = run.modelled_ms();
    if (n < 512) continue;
    CountedKernel halves(text);
    const uint64_t u = halves.floats(n), v = halves.runner.reserve(uint64_t(n) * 4);
    for (const int first : {0, n / 2})
      halves.launch("scale", {static_cast<uint32_t>(n) / 512, 1, 1}, {256, 1, 1}, u, v, first, n);
    CHECK(halves.modelled_ms() > run.modelled_ms());
  }
}

}  // namespace bicrl
