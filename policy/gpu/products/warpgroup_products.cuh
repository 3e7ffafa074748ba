// Products of a warpgroup, which is four warps one behind the other (wgmma): bf16 matrices of which at least
// the second is read from shared memory, as row_layout.cuh puts it there, into sums of fp32 in registers.
// They run beside the threads that began them. Of a matrix [64, n] of sums warp w has the rows from 16 w on,
// and a lane what it has of a product of its warp alone: the rows lane / 4 (i = 0) and eight further (i = 1),
// of each eight columns the two neighbours from lane % 4 * 2 on: x[column / 8][2 i + column % 2]. So it is
// with a first factor [64, 16] in registers, whose pairs are those of both rows of the first eight columns,
// then those of the others.
#pragma once
#include "policy/gpu/products/row_layout.cuh"

namespace bicrl::gpu {

// What this thread has written into shared memory, also by copies that it waited for, is seen by products
// that begin behind the next barrier.
__device__ inline void show_to_products() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Before products that use registers which something else has written or read.
__device__ inline void open_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void close_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until at most so many of the groups closed last are under way.
template <int kPending>
__device__ inline void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
// Keeps the compiler from using sums before this line, which stands behind the wait for them.
template <int kEights>
__device__ inline void settle(float (&sums)[kEights][4]) {
#pragma unroll
  for (float(&of)[4] : sums)
#pragma unroll
    for (float& x : of) asm volatile("" : "+f"(x)::"memory");
}
// A value that all lanes have the same of, where the compiler sees that they do: products take the addresses
// of their matrices from such values.
__device__ inline unsigned of_all_lanes(unsigned x) { return __reduce_or_sync(0xFFFFFFFFu, x); }

// Descriptor of a matrix in shared memory, which is passed to a product. The lower half says where it is in
// units of sixteen bytes and, behind bit 16, how far its slices lie apart. The upper half says that eight
// rows are kSwizzleBytes, and names the kind of permutation.
constexpr unsigned kUpperHalf = 1u << 30 | kSwizzleBytes / 16;

// Of a matrix whose rows are what a product multiplies along (queries, keys of scores): it sees one slice at
// a time, and another sixteen dimensions are 32 bytes further.
__device__ inline unsigned matrix_of_rows(unsigned slice) { return 1u << 16 | (slice & 0x3FFFF) / 16; }
// Of a matrix [kRows, ..] whose rows are added up (values): another sixteen rows are 2 kSwizzleBytes further.
template <int kRows>
__device__ inline unsigned matrix_of_columns(unsigned slices) {
  return unsigned{kRows * kSliceRowBytes / 16} << 16 | (slices & 0x3FFFF) / 16;
}

#define BICRL_EIGHT(x, n)                                                                               \
  "+f"(x[n][0]), "+f"(x[n][1]), "+f"(x[n][2]), "+f"(x[n][3]), "+f"(x[(n) + 1][0]), "+f"(x[(n) + 1][1]), \
      "+f"(x[(n) + 1][2]), "+f"(x[(n) + 1][3])
#define BICRL_NEW_EIGHT(x, n)                                                                           \
  "=f"(x[n][0]), "=f"(x[n][1]), "=f"(x[n][2]), "=f"(x[n][3]), "=f"(x[(n) + 1][0]), "=f"(x[(n) + 1][1]), \
      "=f"(x[(n) + 1][2]), "=f"(x[(n) + 1][3])
#define BICRL_PRODUCT_OF_ROWS                                                         \
  "{\n.reg .pred add;\n.reg .b64 a, b;\nsetp.ne.b32 add, %34, 0;\n"                   \
  "mov.b64 a, {%32, %35};\nmov.b64 b, {%33, %35};\n"                                  \
  "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "                             \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "           \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, " \
  "a, b, add, 1, 1, 0, 0;\n}"

// c = a b, with a [64, 16] and b [64, 16] by rows: c[i, j] is row i of a times row j of b.
__device__ inline void multiply_rows(float (&c)[8][4], unsigned a, unsigned b) {
  asm volatile(BICRL_PRODUCT_OF_ROWS
               : BICRL_NEW_EIGHT(c, 0), BICRL_NEW_EIGHT(c, 2), BICRL_NEW_EIGHT(c, 4), BICRL_NEW_EIGHT(c, 6)
               : "r"(a), "r"(b), "n"(0), "n"(kUpperHalf)
               : "memory");
}

// Likewise c += a b.
__device__ inline void add_rows(float (&c)[8][4], unsigned a, unsigned b) {
  asm volatile(BICRL_PRODUCT_OF_ROWS
               : BICRL_EIGHT(c, 0), BICRL_EIGHT(c, 2), BICRL_EIGHT(c, 4), BICRL_EIGHT(c, 6)
               : "r"(a), "r"(b), "n"(1), "n"(kUpperHalf)
               : "memory");
}

#define BICRL_PRODUCT_OF_FACTOR_AND_ROWS                                                 \
  "{\n.reg .pred add;\n.reg .b64 b;\nsetp.ne.b32 add, %37, 0;\nmov.b64 b, {%36, %38};\n" \
  "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "                                \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "              \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "    \
  "{%32, %33, %34, %35}, b, add, 1, 1, 0;\n}"

// c = a b, with a [64, 16] in registers and b [64, 16] by rows.
__device__ inline void multiply_rows(float (&c)[8][4], const unsigned (&a)[4], unsigned b) {
  asm volatile(BICRL_PRODUCT_OF_FACTOR_AND_ROWS
               : BICRL_NEW_EIGHT(c, 0), BICRL_NEW_EIGHT(c, 2), BICRL_NEW_EIGHT(c, 4), BICRL_NEW_EIGHT(c, 6)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "n"(0), "n"(kUpperHalf)
               : "memory");
}

// Likewise c += a b.
__device__ inline void add_rows(float (&c)[8][4], const unsigned (&a)[4], unsigned b) {
  asm volatile(BICRL_PRODUCT_OF_FACTOR_AND_ROWS
               : BICRL_EIGHT(c, 0), BICRL_EIGHT(c, 2), BICRL_EIGHT(c, 4), BICRL_EIGHT(c, 6)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "n"(1), "n"(kUpperHalf)
               : "memory");
}

// c += a b, with a [64, 16] and b [16, 64], whose columns are one slice.
__device__ inline void add_products(float (&c)[8][4], const unsigned (&a)[4], unsigned b) {
  asm volatile(
      "{\n.reg .pred add;\n.reg .b64 b;\nsetp.ne.b32 add, 1, 0;\nmov.b64 b, {%36, %37};\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "{%32, %33, %34, %35}, b, add, 1, 1, 1;\n}"
      : BICRL_EIGHT(c, 0), BICRL_EIGHT(c, 2), BICRL_EIGHT(c, 4), BICRL_EIGHT(c, 6)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "n"(kUpperHalf)
      : "memory");
}

// c += a b, with a [64, 16] and b [16, 128], whose columns are two slices.
__device__ inline void add_products(float (&c)[16][4], const unsigned (&a)[4], unsigned b) {
  asm volatile(
      "{\n.reg .pred add;\n.reg .b64 b;\nsetp.ne.b32 add, 1, 0;\nmov.b64 b, {%68, %69};\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64, %65, %66, %67}, b, add, 1, 1, 1;\n}"
      : BICRL_EIGHT(c, 0), BICRL_EIGHT(c, 2), BICRL_EIGHT(c, 4), BICRL_EIGHT(c, 6), BICRL_EIGHT(c, 8),
        BICRL_EIGHT(c, 10), BICRL_EIGHT(c, 12), BICRL_EIGHT(c, 14)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "n"(kUpperHalf)
      : "memory");
}

#undef BICRL_EIGHT
#undef BICRL_NEW_EIGHT
#undef BICRL_PRODUCT_OF_ROWS
#undef BICRL_PRODUCT_OF_FACTOR_AND_ROWS

#endif

}  // namespace bicrl::gpu
