// Products of one warp (mma) of bf16 matrices that lie in shared memory as rotated rows (row_layout.cuh), for
// the portable form of attention to packs.
#pragma once
#include "policy/gpu/products/row_layout.cuh"
#include "policy/gpu/products/tensor_core.cuh"

namespace bicrl::gpu {

// c = a b^T: a has sixteen rows of kHeadDim from `a` on, b has 8 kEights.
template <int kHeadDim, int kEights>
__device__ inline void multiply_rows_of_warp(unsigned a, unsigned b, float (&c)[kEights][4]) {
  const int lane = threadIdx.x % 32, matrix = lane / 8;
  const unsigned a_at = further(row_address<kHeadDim>(a, matrix % 2 * 8 + lane % 8), matrix / 2);
  const unsigned b_at = further(row_address<kHeadDim>(b, matrix / 2 * 8 + lane % 8), matrix % 2);
#pragma unroll
  for (int n = 0; n < kEights; ++n)
    for (int i = 0; i < 4; ++i) c[n][i] = 0;
#pragma unroll
  for (int k = 0; k < kHeadDim / 16; ++k) {
    unsigned rows[4];
    load_matrices(further(a_at, 2 * k), rows);
#pragma unroll
    for (int n = 0; n < kEights; n += 2) {
      unsigned columns[4];
      load_matrices(further(b_at, 2 * k) + n * 8 * kHeadDim * 2, columns);
      multiply_add(c[n], rows, columns[0], columns[1]);
      multiply_add(c[n + 1], rows, columns[2], columns[3]);
    }
  }
}

// c += a b: sixteen columns of a as a factor in registers, sixteen rows of kHeadDim from `b` on.
template <int kHeadDim>
__device__ inline void add_product_of_warp(const unsigned (&a)[4], unsigned b, float (&c)[kHeadDim / 8][4]) {
  const int lane = threadIdx.x % 32, matrix = lane / 8;
  const unsigned at = further(row_address<kHeadDim>(b, matrix % 2 * 8 + lane % 8), matrix / 2);
#pragma unroll
  for (int d = 0; d < kHeadDim / 8; d += 2) {
    unsigned rows[4];
    load_matrices_transposed(further(at, d), rows);
    multiply_add(c[d], a, rows[0], rows[1]);
    multiply_add(c[d + 1], a, rows[2], rows[3]);
  }
}

}  // namespace bicrl::gpu
