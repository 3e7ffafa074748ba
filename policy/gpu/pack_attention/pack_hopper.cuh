// Common device code of the Hopper kernels of attention to packs. One warpgroup fetches, two multiply, each
// the 64 product rows of a run or 64 keys of a tile. Matrices lie in shared memory as slices of 64 dimensions
// (row_layout.cuh), which is how the copy engine leaves them. Tasks are dealt out in advance, and what the
// next one needs is fetched while this one is computed.
#pragma once
#include "policy/gpu/pack_attention/pack_softmax.cuh"
#include "policy/gpu/products/tensor_copies.cuh"

namespace bicrl::gpu {

// Where queries, keys, values, outputs and their gradients are: boxes of 64 dimensions and a run's rows and
// heads, or 64 rows of a key head.
struct PackMaps {
  CUtensorMap q, k, v, out, grad_out;
};

constexpr int kGroupThreads = 128;  // of a warpgroup
constexpr int kHopperThreads = 3 * kGroupThreads;
constexpr int kMultiplyingWarps = 8;
// Registers of a thread: of 65,536 a block has its fetching warpgroup's and twice those of one that
// multiplies.
struct QueryRegisters {
  static constexpr int kFetcher = 24, kMultiplier = 240;
};
struct KeyRegisters {
  static constexpr int kFetcher = 24, kMultiplier = 240;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

constexpr int kSliceBytes = 64 * kSliceRowBytes;  // of a matrix of 64 rows

// Sixteen product rows of each warp as first factors, from a matrix of 64 rows.
template <int kHeadDim>
__device__ inline void load_factors(unsigned matrix, unsigned (&factors)[kHeadDim / 16][4]) {
  const int lane = threadIdx.x % kWarp,
            row = threadIdx.x % kGroupThreads / kWarp * 16 + lane / 8 % 2 * 8 + lane % 8;
#pragma unroll
  for (int k = 0; k < kHeadDim / 16; ++k)
    load_matrices(chunk_address<kHeadDim, 64>(matrix, row, 2 * k + lane / 16), factors[k]);
}

// Adds c = a b^T to what is under way, with b the 64 rows of a matrix.
template <int kHeadDim>
__device__ inline void begin_rows(const unsigned (&a)[kHeadDim / 16][4], unsigned b, float (&c)[8][4]) {
  const unsigned rows = matrix_of_rows(b);
#pragma unroll
  for (int k = 0; k < kHeadDim / 16; ++k) {
    const unsigned at = rows + (k / 4 * kSliceBytes + k % 4 * 32) / 16;
    if (k == 0)
      multiply_rows(c, a[k], at);
    else
      add_rows(c, a[k], at);
  }
}
// Likewise with 64 rows in shared memory for a.
template <int kHeadDim>
__device__ inline void begin_rows(unsigned a, unsigned b, float (&c)[8][4]) {
  const unsigned a_rows = matrix_of_rows(a), b_rows = matrix_of_rows(b);
#pragma unroll
  for (int k = 0; k < kHeadDim / 16; ++k) {
    const unsigned at = (k / 4 * kSliceBytes + k % 4 * 32) / 16;
    if (k == 0)
      multiply_rows(c, a_rows + at, b_rows + at);
    else
      add_rows(c, a_rows + at, b_rows + at);
  }
}

// Likewise c += a b, with 64 columns of a as factors and the 64 rows of b.
template <int kHeadDim>
__device__ inline void begin_sum(const unsigned (&a)[4][4], unsigned b, float (&c)[kHeadDim / 8][4]) {
  const unsigned columns = matrix_of_columns<64>(b);
#pragma unroll
  for (int k = 0; k < 4; ++k) add_products(c, a[k], columns + k * 16 * kSliceRowBytes / 16);
}

// Sixteen rows of a warp, each `factor` times sums, to memory in bf16: through shared memory of the warp's
// own (so that a row's lanes write sixteen bytes side by side), kDims dimensions at a time. place(row) is
// where a row's first dimension goes, or null.
template <int kHeadDim, class Place>
__device__ inline void write_warp_rows(unsigned staging, const float (&x)[kHeadDim / 8][4],
                                       const float (&factor)[2], const Place& place) {
  constexpr int kDims = 64, kChunks = kDims / 8, kRowsAtOnce = kWarp / kChunks;
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int slice = 0; slice < kHeadDim / kDims; ++slice) {
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int d = 0; d < kChunks; ++d) {
        const float(&from)[4] = x[slice * kChunks + d];
        store_shared(chunk_address<kDims, 16>(staging, i * 8 + lane / 4, d) + lane % 4 * 4,
                     pack_pair(from[i * 2] * factor[i], from[i * 2 + 1] * factor[i]));
      }
    __syncwarp();
#pragma unroll
    for (int row = lane / kChunks; row < 16; row += kRowsAtOnce) {
      __nv_bfloat16* const to = place(row);
      if (to != nullptr)
        reinterpret_cast<uint4*>(to)[slice * kChunks + lane % kChunks] =
            load_shared(chunk_address<kDims, 16>(staging, row, lane % kChunks));
    }
  }
}

// Which of the multiplying warpgroups this is.
__device__ inline int multiplier_of_thread() {
  return static_cast<int>(of_all_lanes(threadIdx.x / kGroupThreads)) - 1;
}

#endif

}  // namespace bicrl::gpu
