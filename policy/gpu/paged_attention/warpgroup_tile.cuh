// Wide tiles (wide_tile.cuh) on processors whose warpgroups multiply what lies in shared memory: the block is
// one, and its rows are two matrices of 64. Their products run beside the threads: while the scores of one
// half of the rows are weighed, those of the other half, and then the weighted values of the first, are
// summed up. Of each sixteen rows that a warp has of a product it knows what it knows of them in
// wide_tile.cuh.
#pragma once
#include "policy/gpu/paged_attention/key_stream.cuh"
#include "policy/gpu/paged_attention/wide_tile.cuh"
#include "policy/gpu/products/warpgroup_products.cuh"

namespace bicrl::gpu {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

constexpr int kGroupRows = kAttentionWarps * kMmaRows;  // of a product
constexpr int kStepEights = kStepKeys / kMmaWidth;

// One half of a block's rows, at most.
template <int kHeadDim>
struct GroupRows {
  SoftmaxRows<kHeadDim, 1> rows;
  float score[1][kStepEights][4];             // of a step's keys, then their weights
  unsigned weight[kStepKeys / kMmaDepth][4];  // as a factor
};

// Begins with the scores of a step: 64 rows of queries, of the place of a tile's, against the step's keys.
template <int kHeadDim>
__device__ inline void begin_scores(unsigned queries, unsigned keys, GroupRows<kHeadDim>& of) {
  const unsigned q = matrix_of_rows(queries), k = matrix_of_rows(keys);
  open_products();
#pragma unroll
  for (int slice = 0; slice < kHeadDim / kSliceDims; ++slice)
#pragma unroll
    for (int depth = 0; depth < kSliceDims / kMmaDepth; ++depth) {
      const unsigned its_q = q + (slice * kWideColumns * kSliceRowBytes + depth * kMmaDepth * 2) / 16;
      const unsigned its_k = k + (slice * kStepKeys * kSliceRowBytes + depth * kMmaDepth * 2) / 16;
      if (slice + depth == 0)
        multiply_rows(of.score[0], its_q, its_k);
      else
        add_rows(of.score[0], its_q, its_k);
    }
  close_products();
}

// Weighs the scores, which are there, and begins to add the values: nothing else may touch the sums then.
template <int kHeadDim>
__device__ inline void begin_values(float scale_log2, int first_key, unsigned values,
                                    GroupRows<kHeadDim>& of) {
  weigh_rows(scale_log2, first_key, of.rows, of.score);
#pragma unroll
  for (int k = 0; k < kStepKeys / kMmaDepth; ++k) pack_weights(of.score[0], k, of.weight[k]);
  const unsigned v = matrix_of_columns<kStepKeys>(values);
  open_products();
#pragma unroll
  for (int k = 0; k < kStepKeys / kMmaDepth; ++k)
    add_products(of.rows.out[0], of.weight[k], v + k * kMmaDepth * kSliceRowBytes / 16);
  close_products();
}

// kParts: how many times 64 rows the tile has, at most.
template <int kHeadDim, int kParts>
__device__ inline void attend_warpgroup_tile(const AttentionArguments& a, const AttentionTile& tile,
                                             int kv_head, KeyStream<kHeadDim>& stream) {
  static_assert(kGroupRows == kStepKeys && kParts <= 2);
  const int first = threadIdx.x / kWarp * kMmaRows;
  GroupRows<kHeadDim> halves[kParts];
#pragma unroll
  for (int m = 0; m < kParts; ++m) begin_rows(a, tile, m * kGroupRows + first, halves[m].rows);
  const unsigned queries = of_all_lanes(stream.next_queries());
  for (int first_key = tile.first_key; first_key < tile.end_key; first_key += kStepKeys) {
    const unsigned keys = of_all_lanes(stream.next()), values = keys + KeyStream<kHeadDim>::kStepBytes;
#pragma unroll
    for (int m = 0; m < kParts; ++m)
      begin_scores<kHeadDim>(queries + m * kGroupRows * kSliceRowBytes, keys, halves[m]);
    stream.refill();
    // Behind each half's scores there is one group more: the other's scores, then the first's values.
    wait_for_products<kParts - 1>();
    settle(halves[0].score[0]);
    begin_values(a.scale_log2, first_key, values, halves[0]);
    if constexpr (kParts > 1) {
      wait_for_products<1>();
      settle(halves[1].score[0]);
      begin_values(a.scale_log2, first_key, values, halves[1]);
    }
    wait_for_products<0>();
#pragma unroll
    for (int m = 0; m < kParts; ++m) settle(halves[m].rows.out[0]);
  }
  __syncthreads();  // products of all warps have read the queries
#pragma unroll
  for (int m = 0; m < kParts; ++m) {
    const int row = m * kGroupRows + first;
    write_rows(a, tile, kv_head, row, halves[m].rows, queries + row * kHeadDim * 2);
  }
  stream.drop_queries();
}

#endif

}  // namespace bicrl::gpu
