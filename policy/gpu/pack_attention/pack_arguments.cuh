// Arguments of the kernels of attention to packs: PackWork with pointers of the device's types, and the
// access to a plan's tiles.
#pragma once
#include "policy/gpu/elements.cuh"
#include "policy/gpu/pack_attention/pack_attention.h"

namespace bicrl::gpu {

constexpr float kMasked = -INFINITY;  // the score of a key that is not seen
constexpr int kNoEnd = 0x7FFFFFFF;

struct PackArguments {
  PackTables tables;
  const __nv_bfloat16 *q, *k, *v, *grad_out;
  __nv_bfloat16 *out, *grad_q, *grad_k, *grad_v;
  int64_t q_stride, k_stride, v_stride, grad_q_stride, grad_k_stride, grad_v_stride;
  float *log_sums, *deltas, *parts;
  float scale, scale_log2;  // of the scores; times log2(e)
  int rows, heads, kv_heads, group, run_rows, block_size;
  int inverse_group;  // 2^16 divided by the group, rounded up

  // A run's product has a row for each (row of the pack, head of the group), heads side by side.
  __device__ int row_in_run(int product_row) const { return product_row * inverse_group >> 16; }
  __device__ int head_of(int product_row, int kv_head) const {
    return kv_head * group + product_row - row_in_run(product_row) * group;
  }
  // Where a run has its log-sums and deltas, in the order of product rows.
  __device__ int64_t sums_of(int kv_head, int first_row) const {
    return (int64_t{kv_head} * rows + first_row) * group;
  }
  // In [rows, heads, head_dim], elements.
  template <int kHeadDim>
  __device__ int64_t place_of(int row, int head) const {
    return (int64_t{row} * heads + head) * kHeadDim;
  }
};

// Sixty-four keys: rows from `row` on, positions from `position` on, of which those from `end` on are no
// keys.
struct KeyChunk {
  int row, position, end;
};
__device__ inline int prefix_chunks(const QueryTile& tile) {
  return (min(tile.context, tile.prefix_rows) + kChunkKeys - 1) / kChunkKeys;
}
// Of a context of so many keys, the chunks in order are those of the prefix and then the segment's own.
__device__ inline int chunks_of_context(const QueryTile& tile, int context) {
  const int in_prefix = min(context, tile.prefix_rows);
  return (in_prefix + kChunkKeys - 1) / kChunkKeys + (context - in_prefix + kChunkKeys - 1) / kChunkKeys;
}
__device__ inline KeyChunk context_chunk(const QueryTile& tile, int index) {
  const int own = index - prefix_chunks(tile);
  if (own < 0) return {tile.prefix_begin + index * kChunkKeys, index * kChunkKeys, tile.prefix_rows};
  return {tile.own_begin + own * kChunkKeys, tile.prefix_rows + own * kChunkKeys, kNoEnd};
}
// The first row of the chunks of a tile's own blocks.
__device__ inline int own_chunks_begin(int first_row, int block_size) { return first_row & -block_size; }

// Of the pairs of a step: none is seen, all are, or some.
enum StepKind { kUnseen, kSeen, kPartlySeen };

// Columns of a chunk that a query row sees: [first, first + count).
struct SeenColumns {
  int first, count;
  // One for each column. Without branches, as lanes would part.
  __device__ uint64_t bits() const {
    const int clamped = min(max(count, 0), kChunkKeys);
    const uint64_t ones = ~uint64_t{0} >> (kChunkKeys - max(clamped, 1)) << (first & (kChunkKeys - 1));
    return clamped > 0 ? ones : 0;
  }
};
__device__ inline SeenColumns seen_of_context(const KeyChunk& chunk, int limit) {
  return {0, min(limit, chunk.end) - chunk.position};
}
__device__ inline SeenColumns seen_of_own_block(int chunk_row, int row, int noisy_begin, int block_size) {
  return {(row & -block_size) - chunk_row, row < noisy_begin ? 0 : block_size};
}

}  // namespace bicrl::gpu
