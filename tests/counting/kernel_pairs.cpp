#include "tests/counting/kernel_pairs.h"

namespace bicrl::testing {
namespace {

constexpr int kN = 1 << 20;       // elements
constexpr uint32_t kSide = 1024;  // rows and columns of them

uint32_t blocks_of(int elements, int per_block = 256) {
  return static_cast<uint32_t>((elements + per_block - 1) / per_block);
}

// x, y and a number, over so many threads.
KernelForm map(const std::string& kernel, int threads = kN, int block = 256, int number = kN) {
  return [=](CountedKernel& run) {
    const uint64_t x = run.floats(kN), y = run.runner.reserve(kN * 4);
    run.launch(kernel, {blocks_of(threads, block), 1, 1}, {static_cast<uint32_t>(block), 1, 1}, x, y, number);
  };
}
// Several kernels after each other, from x over a buffer between them to y.
KernelForm chain(const std::vector<std::string>& kernels) {
  return [=](CountedKernel& run) {
    uint64_t from = run.floats(kN);
    for (const std::string& kernel : kernels) {
      const uint64_t to = run.runner.reserve(kN * 4);
      run.launch(kernel, {blocks_of(kN), 1, 1}, {256, 1, 1}, from, to, kN);
      from = to;
    }
  };
}
// A kernel over the rows of a matrix.
KernelForm rows(const std::string& kernel, uint32_t blocks, uint32_t block) {
  return [=](CountedKernel& run) {
    const uint64_t x = run.floats(kN), y = run.runner.reserve(kN * 4);
    run.launch(kernel, {blocks, 1, 1}, {block, 1, 1}, x, y, static_cast<int>(kSide));
  };
}
// One over tiles of it.
KernelForm tiles(const std::string& kernel, uint32_t tile_x, uint32_t tile_y, ptx::Dim3 block) {
  return [=](CountedKernel& run) {
    const uint64_t x = run.floats(kN), y = run.runner.reserve(kN * 4);
    run.launch(kernel, {kSide / tile_x, kSide / tile_y, 1}, block, x, y, static_cast<int>(kSide));
  };
}
// c = a b, of 256 rows and columns.
KernelForm product(const std::string& kernel, uint32_t tile_x, uint32_t tile_y, ptx::Dim3 block) {
  return [=](CountedKernel& run) {
    constexpr uint32_t n = 256;
    const uint64_t a = run.floats(n * n), c = run.runner.reserve(n * n * 4);
    run.launch(kernel, {n / tile_x, n / tile_y, 1}, block, a, a, c, static_cast<int>(n));
  };
}
// Sums into `bins` counters.
KernelForm sums(const std::string& kernel, int bins, int threads = kN) {
  return [=](CountedKernel& run) {
    const uint64_t x = run.floats(kN),
                   y = run.runner.upload(std::vector<float>(static_cast<size_t>(bins), 0.0F));
    run.launch(kernel, {blocks_of(threads), 1, 1}, {256, 1, 1}, x, y, kN);
  };
}

const char* const kIndex = "int i = blockIdx.x * blockDim.x + threadIdx.x;";

std::string kernel(const std::string& name, const std::string& body) {
  return "extern \"C\" __global__ void " + name +
         "(const float* __restrict__ x, float* __restrict__ y, int n) { " + kIndex + body + " }\n";
}

std::vector<KernelPair> memory_pairs() {
  return {
      {"copy, columns against rows",
       kernel("slow", "int r = i % 1024, c = i / 1024; y[r * 1024 + c] = x[r * 1024 + c];") +
           kernel("fast", "y[i] = x[i];"),
       map("slow"), map("fast"), 1.5, 10},
      {"copy, stride 8",
       kernel("slow", "int j = (i * 8) % n + (i * 8) / n; y[j] = x[j];") + kernel("fast", "y[i] = x[i];"),
       map("slow"), map("fast"), 1.1, 8},
      {"copy, 4 against 16 bytes a thread",
       kernel("slow", "y[i] = x[i];") + kernel("fast", "((float4*)y)[i] = ((const float4*)x)[i];"),
       map("slow"), map("fast", kN / 4), 1.0, 1.5},
      {"array of structures against arrays",
       kernel("slow", "y[i] = x[i * 4] + x[i * 4 + 1] + x[i * 4 + 2] + x[i * 4 + 3];") +
           kernel("fast", "int m = n / 4; y[i] = x[i] + x[i + m] + x[i + 2 * m] + x[i + 3 * m];"),
       map("slow", kN / 4), map("fast", kN / 4), 1.0, 2},
      {"transpose, straight against tiled",
       kernel("slow", "int r = i / 1024, c = i % 1024; y[c * 1024 + r] = x[i];") + R"(
       extern "C" __global__ void fast(const float* x, float* y, int n) {
         __shared__ float t[32][33];
         int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32;
         for (int k = threadIdx.y; k < 32; k += 8) t[k][threadIdx.x] = x[(r + k) * n + c];
         __syncthreads();
         c = blockIdx.y * 32 + threadIdx.x; r = blockIdx.x * 32;
         for (int k = threadIdx.y; k < 32; k += 8) y[(r + k) * n + c] = t[threadIdx.x][k];
       })",
       map("slow"), tiles("fast", 32, 32, {32, 8, 1}), 1.3, 6},
      {"transpose, tile without against with padding",
       R"(
       template <int kPad> __device__ void f(const float* x, float* y, int n) {
         __shared__ float t[32][32 + kPad];
         int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32;
         for (int k = threadIdx.y; k < 32; k += 8) t[k][threadIdx.x] = x[(r + k) * n + c];
         __syncthreads();
         c = blockIdx.y * 32 + threadIdx.x; r = blockIdx.x * 32;
         for (int k = threadIdx.y; k < 32; k += 8) y[(r + k) * n + c] = t[threadIdx.x][k];
       }
       extern "C" __global__ void slow(const float* x, float* y, int n) { f<0>(x, y, n); }
       extern "C" __global__ void fast(const float* x, float* y, int n) { f<1>(x, y, n); })",
       tiles("slow", 32, 32, {32, 8, 1}), tiles("fast", 32, 32, {32, 8, 1}), 1.02, 2.5},
      {"gather at random against in order",
       kernel("slow", "y[i] = x[(unsigned)i * 2654435761u % (unsigned)n];") + kernel("fast", "y[i] = x[i];"),
       map("slow"), map("fast"), 1.2, 10},
      {"a value that all read: per thread against once per block",
       kernel("slow", "float s = 0; for (int k = 0; k < 64; ++k) s += x[k]; y[i] = x[i] * s;") + R"(
       extern "C" __global__ void fast(const float* __restrict__ x, float* __restrict__ y, int n) {
         __shared__ float s; int i = blockIdx.x * blockDim.x + threadIdx.x;
         if (threadIdx.x < 32) {
           float v = x[threadIdx.x] + x[threadIdx.x + 32];
           for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
           if (threadIdx.x == 0) s = v;
         }
         __syncthreads();
         y[i] = x[i] * s;
       })",
       map("slow"), map("fast"), 1.3, 10},
      {"stencil of 9, without against with shared memory",
       kernel("slow",
              "float s = 0; for (int k = -4; k <= 4; ++k) { int j = i + k; s += x[j < 0 ? 0 : j >= n ? n - 1 "
              ": j]; } y[i] = s;") +
           R"(
       extern "C" __global__ void fast(const float* __restrict__ x, float* __restrict__ y, int n) {
         __shared__ float t[264]; int i = blockIdx.x * 256 + threadIdx.x, j = i - 4;
         t[threadIdx.x] = x[j < 0 ? 0 : j];
         if (threadIdx.x < 8) { int e = i + 252; t[threadIdx.x + 256] = x[e >= n ? n - 1 : e]; }
         __syncthreads();
         float s = 0;
         for (int k = 0; k < 9; ++k) s += t[threadIdx.x + k];
         y[i] = s;
       })",
       map("slow"), map("fast"), 0.9, 2},
      {"half the threads idle against none",
       kernel("slow", "if (i % 2 == 0 && i / 2 < n) y[i / 2] = x[i / 2] + 1;") +
           kernel("fast", "if (i < n) y[i] = x[i] + 1;"),
       map("slow", 2 * kN), map("fast"), 1.05, 2}};
}

std::vector<KernelPair> launch_pairs() {
  const std::string steps =
      kernel("scale", "y[i] = x[i] * 2.0f;") + kernel("shift", "y[i] = x[i] + 1.0f;") +
      kernel("relu", "y[i] = fmaxf(x[i], 0.0f);") +
      kernel("gelu",
             "float v = x[i]; y[i] = 0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));") +
      kernel("two", "y[i] = fmaxf(x[i] * 2.0f, 0.0f);") +
      kernel("four",
             "float v = fmaxf(x[i] * 2.0f + 1.0f, 0.0f); y[i] = 0.5f * v * (1.0f + tanhf(0.79788456f * (v + "
             "0.044715f * v * v * v)));");
  return {{"two steps in two kernels against one", steps, chain({"scale", "relu"}), chain({"two"}), 1.5, 2.5},
          {"four steps in four kernels against one", steps, chain({"scale", "shift", "relu", "gelu"}),
           chain({"four"}), 2.5, 5},
          {"eight launches of an eighth against one",
           R"(extern "C" __global__ void part(const float* x, float* y, int first, int n) {
         int i = first + blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] * 2.0f; })",
           [](CountedKernel& run) {
             const uint64_t x = run.floats(kN), y = run.runner.reserve(kN * 4);
             for (int k = 0; k < 8; ++k)
               run.launch("part", {blocks_of(kN / 8), 1, 1}, {256, 1, 1}, x, y, k * (kN / 8), kN);
           },
           [](CountedKernel& run) {
             const uint64_t x = run.floats(kN), y = run.runner.reserve(kN * 4);
             run.launch("part", {blocks_of(kN), 1, 1}, {256, 1, 1}, x, y, 0, kN);
           },
           2, 8},
          {"blocks of 32 threads against 256", kernel("f", "y[i] = x[i] * 2.0f;"), map("f", kN, 32),
           map("f", kN, 256), 1.0, 5},
          {"one block against 256, each thread as many elements",
           R"(extern "C" __global__ void f(const float* x, float* y, int n) {
         for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] * 2.0f; })",
           map("f", 256), map("f", 65536), 20, 500},
          {"one element a thread against sixteen, launch bound",
           kernel("slow", "if (i < 4096) y[i] = x[i];") +
               kernel("fast", "for (int k = 0; k < 16; ++k) y[i + k * 256] = x[i + k * 256];"),
           map("slow", 4096), map("fast", 256), 0.5, 1.5}};
}

std::vector<KernelPair> arithmetic_pairs() {
  return {
      {"exact against approximate functions",
       kernel("slow", "float v = x[i]; for (int k = 0; k < 16; ++k) v = sqrtf(v) / (v + 1.5f); y[i] = v;") +
           kernel("fast",
                  "float v = x[i]; for (int k = 0; k < 16; ++k) v = __fdividef(__fsqrt_rn(v), v + 1.5f); "
                  "y[i] = v;"),
       map("slow"), map("fast"), 1.0, 3},
      {"double against single precision",
       kernel("slow", "double v = x[i]; for (int k = 0; k < 64; ++k) v = v * 1.000001 + 0.5; y[i] = v;") +
           kernel("fast", "float v = x[i]; for (int k = 0; k < 64; ++k) v = v * 1.000001f + 0.5f; y[i] = v;"),
       map("slow"), map("fast"), 1.2, 4},
      {"division of integers by a variable against a mask",
       kernel("slow",
              "int j = i; int s = 0; for (int k = 0; k < 16; ++k) { j = (j * 7 + 3) % n; s += j; } y[i] = "
              "x[i] + s;") +
           kernel("fast",
                  "int j = i; int s = 0; for (int k = 0; k < 16; ++k) { j = (j * 7 + 3) & (1048576 - 1); s "
                  "+= j; } y[i] = x[i] + s;"),
       map("slow"), map("fast"), 1.3, 6},
      {"lanes of a warp part against warps of a block",
       kernel("slow",
              "float v = x[i]; if (threadIdx.x % 2) for (int k = 0; k < 64; ++k) v = v * 1.01f + 0.5f; else "
              "for (int k = 0; k < 64; ++k) v = v * 0.99f - 0.5f; y[i] = v;") +
           kernel("fast",
                  "float v = x[i]; if (threadIdx.x / 32 % 2) for (int k = 0; k < 64; ++k) v = v * 1.01f + "
                  "0.5f; else for (int k = 0; k < 64; ++k) v = v * 0.99f - 0.5f; y[i] = v;"),
       map("slow"), map("fast"), 1.2, 2.2},
      {"a polynomial by powers against Horner",
       kernel("slow",
              "float v = x[i], s = 0; for (int k = 0; k < 12; ++k) { float p = 1; for (int j = 0; j < k; "
              "++j) p *= v; s += p * 0.5f; } y[i] = s;") +
           kernel("fast",
                  "float v = x[i], s = 0.5f; for (int k = 0; k < 11; ++k) s = s * v + 0.5f; y[i] = s;"),
       map("slow"), map("fast"), 1.0, 3},
      {"the same sine in each of 16 rounds against once",
       kernel("slow",
              "float v = x[i], s = 0; for (int k = 0; k < 16; ++k) s += __sinf(v + k) * __cosf(v + k); y[i] "
              "= s;") +
           kernel("fast", "float v = x[i]; float s = __sinf(v) * __cosf(v); y[i] = 16 * s;"),
       map("slow"), map("fast"), 1.3, 8}};
}

std::vector<KernelPair> reduction_pairs() {
  const std::string row_sums = R"(
    extern "C" __global__ void thread_per_row(const float* __restrict__ x, float* y, int n) {
      int r = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;
      for (int k = 0; k < n; ++k) s += x[r * n + k];
      y[r] = s;
    }
    extern "C" __global__ void warp_per_row(const float* __restrict__ x, float* y, int n) {
      int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, l = threadIdx.x % 32; float s = 0;
      for (int k = l; k < n; k += 32) s += x[r * n + k];
      for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffffu, s, d);
      if (l == 0) y[r] = s;
    }
    extern "C" __global__ void softmax_three(const float* __restrict__ x, float* y, int n) {
      int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, l = threadIdx.x % 32; float m = -1e30f, s = 0;
      for (int k = l; k < n; k += 32) m = fmaxf(m, x[r * n + k]);
      for (int d = 16; d > 0; d /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, d));
      for (int k = l; k < n; k += 32) s += __expf(x[r * n + k] - m);
      for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffffu, s, d);
      for (int k = l; k < n; k += 32) y[r * n + k] = __expf(x[r * n + k] - m) / s;
    }
    extern "C" __global__ void softmax_kept(const float* __restrict__ x, float* y, int n) {
      int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, l = threadIdx.x % 32; float v[32], m = -1e30f, s = 0;
      for (int k = 0; k < 32; ++k) { v[k] = x[r * n + k * 32 + l]; m = fmaxf(m, v[k]); }
      for (int d = 16; d > 0; d /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, d));
      for (int k = 0; k < 32; ++k) { v[k] = __expf(v[k] - m); s += v[k]; }
      for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffffu, s, d);
      float w = 1 / s;
      for (int k = 0; k < 32; ++k) y[r * n + k * 32 + l] = v[k] * w;
    }
    extern "C" __global__ void softmax_thread(const float* __restrict__ x, float* y, int n) {
      int r = blockIdx.x * blockDim.x + threadIdx.x; float m = -1e30f, s = 0;
      for (int k = 0; k < n; ++k) m = fmaxf(m, x[r * n + k]);
      for (int k = 0; k < n; ++k) s += __expf(x[r * n + k] - m);
      for (int k = 0; k < n; ++k) y[r * n + k] = __expf(x[r * n + k] - m) / s;
    })";
  const std::string totals = R"(
    extern "C" __global__ void each(const float* __restrict__ x, float* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x; atomicAdd(y, x[i]); }
    extern "C" __global__ void tree(const float* __restrict__ x, float* y, int n) {
      __shared__ float s[256]; int i = blockIdx.x * blockDim.x + threadIdx.x;
      s[threadIdx.x] = x[i];
      for (int d = 128; d > 0; d /= 2) { __syncthreads(); if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d]; }
      if (threadIdx.x == 0) atomicAdd(y, s[0]);
    }
    extern "C" __global__ void interleaved(const float* __restrict__ x, float* y, int n) {
      __shared__ float s[256]; int i = blockIdx.x * blockDim.x + threadIdx.x;
      s[threadIdx.x] = x[i];
      for (int d = 1; d < 256; d *= 2) { __syncthreads(); int j = 2 * d * threadIdx.x; if (j < 256) s[j] += s[j + d]; }
      if (threadIdx.x == 0) atomicAdd(y, s[0]);
    }
    extern "C" __global__ void shuffled(const float* __restrict__ x, float* y, int n) {
      __shared__ float s[8]; float v = 0;
      for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
      for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
      if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
      __syncthreads();
      if (threadIdx.x == 0) { for (int w = 1; w < 8; ++w) v += s[w]; atomicAdd(y, v); }
    }
    extern "C" __global__ void bins_global(const float* __restrict__ x, float* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x; atomicAdd(&y[i % 64], x[i]); }
    extern "C" __global__ void bins_shared(const float* __restrict__ x, float* y, int n) {
      __shared__ float s[64]; if (threadIdx.x < 64) s[threadIdx.x] = 0;
      __syncthreads();
      for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[i % 64], x[i]);
      __syncthreads();
      if (threadIdx.x < 64) atomicAdd(&y[threadIdx.x], s[threadIdx.x]);
    })";
  return {{"sum of rows, a thread against a warp for each", row_sums, rows("thread_per_row", 4, 256),
           rows("warp_per_row", 128, 256), 3, 40},
          {"softmax, a thread against a warp for each row", row_sums, rows("softmax_thread", 4, 256),
           rows("softmax_three", 128, 256), 20, 130},
          {"softmax, row read three times against kept", row_sums, rows("softmax_three", 128, 256),
           rows("softmax_kept", 128, 256), 1.1, 3},
          {"total, an atomic for each against a tree in the block", totals, sums("each", 1), sums("tree", 1),
           5, 300},
          {"total, a tree with against without bank conflicts", totals, sums("interleaved", 1),
           sums("tree", 1), 1.0, 2},
          {"total, a tree against shuffles over a loop", totals, sums("tree", 1), sums("shuffled", 1, 65536),
           0.7, 3},
          {"histogram of 64, in global against shared memory", totals, sums("bins_global", 64),
           sums("bins_shared", 64, 65536), 1.5, 30}};
}

std::vector<KernelPair> product_pairs() {
  const std::string text = R"(
    extern "C" __global__ void by_column(const float* __restrict__ a, const float* __restrict__ b, float* c, int n) {
      int y = blockIdx.x * 16 + threadIdx.x, x = blockIdx.y * 16 + threadIdx.y; float s = 0;
      for (int k = 0; k < n; ++k) s += a[y * n + k] * b[k * n + x];
      c[y * n + x] = s;
    }
    extern "C" __global__ void naive(const float* __restrict__ a, const float* __restrict__ b, float* c, int n) {
      int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y; float s = 0;
      for (int k = 0; k < n; ++k) s += a[y * n + k] * b[k * n + x];
      c[y * n + x] = s;
    }
    extern "C" __global__ void tiled(const float* a, const float* b, float* c, int n) {
      __shared__ float ta[16][16], tb[16][16];
      int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x; float s = 0;
      for (int k = 0; k < n / 16; ++k) {
        ta[y][x] = a[row * n + k * 16 + x]; tb[y][x] = b[(k * 16 + y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; ++i) s += ta[y][i] * tb[i][x];
        __syncthreads();
      }
      c[row * n + column] = s;
    })";
  return {{"product 256^3, strided against coalesced", text, product("by_column", 16, 16, {16, 16, 1}),
           product("naive", 16, 16, {16, 16, 1}), 1.3, 8}};
}

std::vector<KernelPair> all_pairs() {
  std::vector<KernelPair> all;
  for (const auto& part :
       {memory_pairs(), launch_pairs(), arithmetic_pairs(), reduction_pairs(), product_pairs()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

const std::vector<KernelPair>& kernel_pairs() {
  static const std::vector<KernelPair> pairs = all_pairs();
  return pairs;
}

}  // namespace bicrl::testing
