// wmma against loops in double precision, and what can go wrong with matrices.
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "common/rng.h"
#include "sandbox/interpreter/ptx/alu/matrix_arithmetic.h"
#include "sandbox/interpreter/ptx/syntax/parser.h"
#include "tests/ptx/kernel_runner.h"

namespace bicrl::ptx {
namespace {

using testing::fault_text;
using testing::KernelRunner;

constexpr const char* kProducts = R"(
  #include <mma.h>
  #include <cuda_fp16.h>
  #include <cuda_bf16.h>
  using namespace nvcuda;
  template <class A> constexpr bool by_rows = false;
  template <> constexpr bool by_rows<wmma::row_major> = true;
  // d = 2 (a b + c): a [M, K] by rows if ra, b [K, N] by rows if rb, c by rows, d by columns.
  template <int M, int N, int K, class T, class S, class R, class A, class B>
  __device__ void product(const T* a, const T* b, const S* c, S* d) {
    wmma::fragment<wmma::matrix_a, M, N, K, R, A> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, R, B> fb;
    wmma::fragment<wmma::accumulator, M, N, K, S> fc, fd;
    wmma::load_matrix_sync(fa, a, by_rows<A> ? K : M);
    wmma::load_matrix_sync(fb, b, by_rows<B> ? N : K);
    wmma::load_matrix_sync(fc, c, N, wmma::mem_row_major);
    wmma::mma_sync(fd, fa, fb, fc);
    for (int i = 0; i < fd.num_elements; ++i) fd.x[i] = fd.x[i] + fd.x[i];
    wmma::store_matrix_sync(d, fd, M, wmma::mem_col_major);
  }
  #define KERNELS(name, M, N, K, T, S, R)                                                                  \
    extern "C" __global__ void name##_rr(const T* a, const T* b, const S* c, S* d) {                      \
      product<M, N, K, T, S, R, wmma::row_major, wmma::row_major>(a, b, c, d);                       \
    }                                                                                                      \
    extern "C" __global__ void name##_cc(const T* a, const T* b, const S* c, S* d) {                      \
      product<M, N, K, T, S, R, wmma::col_major, wmma::col_major>(a, b, c, d);                       \
    }
)";

// Values of a type that is exact in all: multiples of 1/16 from -2 to 2.
std::vector<double> random_values(int count, uint64_t seed) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i)
    values.push_back((static_cast<double>(mix_key({seed, static_cast<uint64_t>(i)}) % 65) - 32) / 16);
  return values;
}

struct Half {
  using Bits = _Float16;
  static Bits of(double v) { return static_cast<_Float16>(v); }
  static double back(Bits b) { return static_cast<double>(b); }
};
struct Bfloat {
  using Bits = uint16_t;
  static Bits of(double v) {
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(v)) >> 16);
  }
};
struct Single {
  using Bits = float;
  static Bits of(double v) { return static_cast<float>(v); }
  static double back(Bits b) { return static_cast<double>(b); }
};
struct Double {
  using Bits = double;
  static Bits of(double v) { return v; }
  static double back(Bits b) { return b; }
};

template <class T>
std::vector<typename T::Bits> encode(const std::vector<double>& values) {
  std::vector<typename T::Bits> bits;
  for (double value : values) bits.push_back(T::of(value));
  return bits;
}

template <class T, class S>
void check(KernelRunner& runner, const std::string& name, int m, int n, int k) {
  for (const bool by_rows : {true, false}) {
    const auto a = random_values(m * k, 1), b = random_values(k * n, 2), c = random_values(m * n, 3);
    const uint64_t d = runner.reserve(static_cast<uint64_t>(m * n) * sizeof(typename S::Bits));
    REQUIRE(fault_text(runner.launch(name + (by_rows ? "_rr" : "_cc"), {1, 1, 1}, {32, 1, 1}, 0,
                                     runner.upload(encode<T>(a)), runner.upload(encode<T>(b)),
                                     runner.upload(encode<S>(c)), d)) == "");
    const auto found = runner.download<typename S::Bits>(d);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        double sum = c[static_cast<size_t>(i * n + j)];
        for (int l = 0; l < k; ++l)
          sum += a[static_cast<size_t>(by_rows ? i * k + l : l * m + i)] *
                 b[static_cast<size_t>(by_rows ? l * n + j : j * k + l)];
        // Sums are multiples of 1/256 below 128: exact, but for an fp16 result.
        REQUIRE(S::back(found[static_cast<size_t>(j * m + i)]) == 2 * S::back(S::of(sum)));
      }
  }
}

}  // namespace

TEST_CASE("wmma of all types and shapes, rows and columns") {
  KernelRunner runner(std::string(kProducts) + R"(
    KERNELS(square, 16, 16, 16, half, float, half)
    KERNELS(wide, 8, 32, 16, half, float, half)
    KERNELS(tall, 32, 8, 16, half, float, half)
    KERNELS(half_square, 16, 16, 16, half, half, half)
    KERNELS(half_wide, 8, 32, 16, half, half, half)
    KERNELS(half_tall, 32, 8, 16, half, half, half)
    KERNELS(bf_square, 16, 16, 16, __nv_bfloat16, float, __nv_bfloat16)
    KERNELS(bf_wide, 8, 32, 16, __nv_bfloat16, float, __nv_bfloat16)
    KERNELS(bf_tall, 32, 8, 16, __nv_bfloat16, float, __nv_bfloat16)
    KERNELS(tf_square, 16, 16, 8, float, float, wmma::precision::tf32)
    KERNELS(double_square, 8, 8, 4, double, double, double)
  )");
  check<Half, Single>(runner, "square", 16, 16, 16);
  check<Half, Single>(runner, "wide", 8, 32, 16);
  check<Half, Single>(runner, "tall", 32, 8, 16);
  check<Half, Half>(runner, "half_square", 16, 16, 16);
  check<Half, Half>(runner, "half_wide", 8, 32, 16);
  check<Half, Half>(runner, "half_tall", 32, 8, 16);
  check<Bfloat, Single>(runner, "bf_square", 16, 16, 16);
  check<Bfloat, Single>(runner, "bf_wide", 8, 32, 16);
  check<Bfloat, Single>(runner, "bf_tall", 32, 8, 16);
  check<Single, Single>(runner, "tf_square", 16, 16, 8);
  check<Double, Double>(runner, "double_square", 8, 8, 4);
}

TEST_CASE("a product of warps over tiles in shared memory, with accumulators turned into fp16") {
  KernelRunner runner(R"(
    #include <mma.h>
    #include <cuda_fp16.h>
    using namespace nvcuda;
    extern "C" __global__ void multiply(const half* a, const half* b, half* c, int n) {
      __shared__ half ta[4][16][24], tb[16][24];  // padded rows
      int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = (blockIdx.y * 4 + warp) * 16, column = blockIdx.x * 16;
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
      wmma::fragment<wmma::accumulator, 16, 16, 16, half> rounded;
      wmma::fill_fragment(sum, 0.0f);
      for (int k = 0; k < n; k += 16) {
        for (int i = lane; i < 256; i += 32) ta[warp][i / 16][i % 16] = a[(row + i / 16) * n + k + i % 16];
        for (int i = threadIdx.x; i < 256; i += 128) tb[i / 16][i % 16] = b[(k + i / 16) * n + column + i % 16];
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
        wmma::load_matrix_sync(fa, &ta[warp][0][0], 24);
        wmma::load_matrix_sync(fb, &tb[0][0], 24);
        wmma::mma_sync(sum, fa, fb, sum);
        __syncthreads();
      }
      for (int i = 0; i < sum.num_elements; ++i) rounded.x[i] = __float2half(sum.x[i]);
      wmma::store_matrix_sync(c + row * n + column, rounded, n, wmma::mem_row_major);
    })");
  const int n = 128;
  std::vector<_Float16> a, b;
  for (uint64_t i = 0; i < n * n; ++i) {
    a.push_back(static_cast<_Float16>(static_cast<double>(mix_key({1, i}) >> 11) * 0x1p-52 - 1));
    b.push_back(static_cast<_Float16>(static_cast<double>(mix_key({2, i}) >> 11) * 0x1p-52 - 1));
  }
  const uint64_t c = runner.reserve(n * n * 2);
  REQUIRE(fault_text(runner.launch("multiply", {8, 2, 1}, {128, 1, 1}, 0, runner.upload(a), runner.upload(b),
                                   c, n)) == "");
  const auto found = runner.download<_Float16>(c);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (size_t k = 0; k < n; ++k)
        sum += static_cast<double>(a[i * n + k]) * static_cast<double>(b[k * n + j]);
      REQUIRE(std::abs(static_cast<double>(found[i * n + j]) - sum) <= std::abs(sum) * 0x1p-11 + 2e-5);
    }
}

TEST_CASE("both variants of the matrix arithmetic give the same bits") {
  if (best_isa_variant() != IsaVariant::kAvx2) SKIP("no AVX2");
  const MatrixArithmetic &plain = matrix_arithmetic(IsaVariant::kBaseline),
                         &fast = matrix_arithmetic(IsaVariant::kAvx2);
  alignas(64) uint16_t halves[512];
  alignas(64) float a[512], b[512], c[512], d[512], e[512];
  for (uint64_t round = 0; round < 200; ++round) {
    for (size_t i = 0; i < 512; ++i) {
      a[i] = std::bit_cast<float>(static_cast<uint32_t>(mix_key({round, i, 1})));
      b[i] = std::bit_cast<float>(static_cast<uint32_t>(mix_key({round, i, 2})));
      c[i] = std::bit_cast<float>(static_cast<uint32_t>(mix_key({round, i, 3})));
      if (!std::isfinite(a[i])) a[i] = 1;
      if (!std::isfinite(b[i])) b[i] = 1;
      if (!std::isfinite(c[i])) c[i] = 1;
    }
    plain.multiply(a, b, c, d, 16, 16, 16);
    fast.multiply(a, b, c, e, 16, 16, 16);
    for (size_t i = 0; i < 256; ++i)
      REQUIRE((std::bit_cast<uint32_t>(d[i]) == std::bit_cast<uint32_t>(e[i]) ||
               (std::isnan(d[i]) && std::isnan(e[i]))));
    uint16_t other[512];
    plain.narrow_f16(a, halves, 512), fast.narrow_f16(a, other, 512);
    REQUIRE(std::equal(halves, halves + 512, other));
    plain.widen_f16(halves, d, 512), fast.widen_f16(halves, e, 512);
    REQUIRE(memcmp(d, e, sizeof d) == 0);
    for (size_t i = 0; i < 512; ++i)
      REQUIRE(halves[i] == std::bit_cast<uint16_t>(static_cast<_Float16>(a[i])));
  }
}

TEST_CASE("an undefined element makes its row and its column of the product undefined, and nothing else") {
  KernelRunner runner(std::string(kProducts) + "KERNELS(square, 16, 16, 16, half, float, half)");
  std::vector<_Float16> ones(255, static_cast<_Float16>(1));
  const uint64_t whole = runner.upload(std::vector<_Float16>(256, static_cast<_Float16>(1)));
  const uint64_t c = runner.upload(std::vector<float>(256, 1));
  KernelRunner* r = &runner;
  const auto undefined = [&](uint64_t a, uint64_t b, uint64_t d) {
    REQUIRE(fault_text(r->launch("square_rr", {1, 1, 1}, {32, 1, 1}, 0, a, b, c, d)) == "");
    std::vector<bool> of(256);
    for (size_t i = 0; i < 256; ++i) of[i] = runner.buffer(d).undefined[i * 4] != 0;  // by columns
    return of;
  };
  // The last element was never written.
  const uint64_t part = runner.reserve(512);
  runner.fill(part, ones);
  const auto row = undefined(part, whole, runner.reserve(1024)),
             column = undefined(whole, part, runner.reserve(1024));
  for (size_t i = 0; i < 256; ++i) {
    CHECK(row[i] == (i % 16 == 15));
    CHECK(column[i] == (i / 16 == 15));
  }
}

TEST_CASE("matrices that lie wrongly, and warps that are not whole") {
  KernelRunner runner(R"(
    #include <mma.h>
    #include <cuda_fp16.h>
    using namespace nvcuda;
    extern "C" __global__ void load(const half* a, int width, float* d) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
      wmma::fill_fragment(fb, __float2half(1.0f));
      wmma::fill_fragment(fc, 0.0f);
      wmma::load_matrix_sync(fa, a, width);
      wmma::mma_sync(fc, fa, fb, fc);
      wmma::store_matrix_sync(d, fc, 16, wmma::mem_row_major);
    }
    __device__ unsigned row_of(void* p, unsigned add) { return (unsigned)__cvta_generic_to_shared(p) + add; }
    extern "C" __global__ void rows(int bad, int add) {
      __shared__ __align__(16) unsigned short tile[8][8];
      for (int i = threadIdx.x; i < 64; i += 32) tile[i / 8][i % 8] = 1;
      __syncwarp();
      unsigned r, row = row_of(tile[threadIdx.x % 8], threadIdx.x == bad ? add : 0);
      asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(row));
    }
    extern "C" __global__ void global_row(void* p) {
      unsigned r;
      asm volatile("ldmatrix.sync.aligned.m8n8.x1.b16 {%0}, [%1];" : "=r"(r) : "l"(p));
    }
    extern "C" __global__ void part(int leaver) {
      if (threadIdx.x == leaver) return;
      unsigned r = 1;
      asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(r));
    }
    extern "C" __global__ void miss(int* out) {
      unsigned r = 1;
      if (threadIdx.x == 7) asm volatile("bar.sync 1;");
      else asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(r));
      out[threadIdx.x] = r;
    }
    extern "C" __global__ void scattered(const half* a) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
      wmma::load_matrix_sync(fa, a + (threadIdx.x == 3 ? 8 : 0), 16);
      asm volatile("" :: "r"(*(int*)&fa.x[0]));
    })");
  const uint64_t a = runner.upload(std::vector<_Float16>(256, static_cast<_Float16>(1)));
  const uint64_t d = runner.reserve(1024);
  const auto load = [&](uint64_t from, int width, uint64_t to, uint32_t threads = 32) {
    return fault_text(runner.launch("load", {1, 1, 1}, {threads, 1, 1}, 0, from, width, to));
  };
  CHECK(load(a, 16, d) == "");
  CHECK(load(a, 8, d) == "");
  CHECK(load(a, 24, d) == "illegal_access: a read outside of every buffer (block 0, 0, 0, thread 0, 0, 0)");
  CHECK(load(a + 16, 16, d).starts_with("illegal_access: a read of 32 bytes across"));
  CHECK(load(a + 8, 16, d).starts_with("illegal_access: a matrix whose rows do not begin"));
  CHECK(load(a, 20, d).starts_with("illegal_access: a matrix whose rows do not begin"));
  CHECK(load(a, 16, d + 16).starts_with("illegal_access: a write of 64 bytes across"));
  CHECK(load(a, 1 << 30, d).starts_with("illegal_access: a read outside of every buffer"));
  CHECK(load(a, 16, d, 40).starts_with("barrier: a matrix operation of a warp"));
  const auto rows = [&](int bad, int add) {
    return fault_text(runner.launch("rows", {1, 1, 1}, {32, 1, 1}, 0, bad, add));
  };
  CHECK(rows(-1, 0) == "");
  CHECK(rows(8, 2) == "");  // an address that nobody asks for
  CHECK(rows(3, 2) ==
        "illegal_access: an address that is not a multiple of the 16 bytes of the access (block 0, 0, 0, "
        "thread 3, 0, 0)");
  CHECK(rows(7, 16).starts_with("illegal_access: a read outside of shared memory"));
  CHECK(fault_text(runner.launch("global_row", {1, 1, 1}, {32, 1, 1}, 0, a))
            .starts_with("illegal_access: a row of a matrix that is not in shared"));
  CHECK(fault_text(runner.launch("part", {1, 1, 1}, {32, 1, 1}, 0, -1)) == "");
  CHECK(fault_text(runner.launch("part", {1, 1, 1}, {32, 1, 1}, 0, 4))
            .starts_with("barrier: a matrix operation of a warp"));
  CHECK(fault_text(runner.launch("miss", {1, 1, 1}, {32, 1, 1}, 0, d)).starts_with("barrier: "));
  CHECK(fault_text(runner.launch("scattered", {1, 1, 1}, {32, 1, 1}, 0, a))
            .starts_with("illegal_access: the lanes of a warp name different"));
}

TEST_CASE("texts that name matrix operations wrongly are refused with a reason") {
  const auto lowered = [](const std::string& body) {
    const auto module = parse_module(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
        ".reg .b32 %r<20>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<20>;\n.reg .b16 %h<4>;\n.reg .pred %p<3>;\n.reg "
        ".f64 %d<9>;\n" +
        body + "\nret;\n}\n");
    if (!module.ok()) return "parse: " + module.reason();
    const auto kernel = lower_kernel(module.value(), "k");
    return kernel.ok() ? std::string() : kernel.reason();
  };
  const std::string mma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 ";
  CHECK(lowered(mma + "{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};") == "");
  for (const std::string& invalid : {
           mma + "{%f0,%f1,%f2}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};",
           mma + "{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2}, {%r4,%r5}, {%f0,%f1,%f2,%f3};",
           mma + "{%f0,%f1,%f2,%f3}, %r0, {%r4,%r5}, {%f0,%f1,%f2,%f3};",
           mma + "{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5};",
           mma + "{%f0,%f1,%f2,%f3};",
           mma + "{%f0,%f1,%f2,%f3}, {%rd0,%rd1,%rd2,%rd3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};",
           mma + "{%f0,%f1,%f2,%f3}, {%h0,%h1,%h2,%h3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};",
           mma + "{%h0,%h1,%h2,%h3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};",
           mma + "{%f0,%f1,%f2,%f3}, {%p0,%p1,%p2,%p0}, {%r4,%r5}, {%f0,%f1,%f2,%f3}, %r0;",
           std::string("mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, "
                       "{%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};"),
           std::string("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r0,%r1,%r2,%r3}, "
                       "{%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r0,%r1,%r2,%r3};"),
           std::string("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, "
                       "{%r4,%r5}, {%f0,%f1,%f2,%f3}, %r0, 0;"),
           std::string("mma.sync {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};"),
           std::string("mma %r0;"),
           std::string("wmma.mma %r0;"),
           std::string("wmma.load %r0;"),
           std::string("wmma %r0, %r1;"),
           std::string("wmma {%r0}, [%rd1], 4;"),
           std::string("ldmatrix {%r0}, [%rd1];"),
           std::string("movmatrix %r0, %r1;"),
           std::string("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r0,%r1}, [%rd0], 16;"),
           std::string("wmma.load.a.sync.aligned.row.m16n16k16.s8 {%r0,%r1}, [%rd0], 16;"),
           std::string(
               "wmma.load.a.sync.aligned.m16n16k16.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%rd0], 16;"),
           std::string(
               "wmma.store.a.sync.aligned.row.m16n16k16.f16 [%rd0], {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, 16;"),
           std::string("wmma.store.d.sync.aligned.row.m16n16k16.f32 [%rd0];"),
           std::string("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0,%r1,%r2}, [%r3];"),
           std::string("ldmatrix.sync.aligned.m8n8.shared.b16 {%r0,%r1,%r2,%r3}, [%r3];"),
           std::string("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0,%r1,%r2,%r3}, %r3;"),
           std::string("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0,%r1,%r2,%r3};"),
           std::string("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r3], {%r0,%rd1};"),
           std::string("stmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0,%r1}, [%r3];"),
           std::string("movmatrix.sync.aligned.m8n8.trans.b16 %rd0, %r0;"),
           std::string("movmatrix.sync.aligned.m8n8.trans.b16 %r0, %f0, %r1;"),
       }) {
    INFO(invalid);
    CHECK(lowered(invalid) != "");
  }
}

}  // namespace bicrl::ptx
