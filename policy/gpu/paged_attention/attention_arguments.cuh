// Arguments of the attention kernel, and the assignment of its tasks: pairs of a tile and a key head.
#pragma once
#include "policy/gpu/elements.cuh"

namespace bicrl::gpu {

constexpr int kAttentionWarps = 4;
constexpr int kAttentionThreads = kAttentionWarps * kWarp;
constexpr int kAttentionBlocks = 2;  // of a processor, side by side
constexpr int kPageTokens = 16;      // of KvCache
constexpr float kNever = -INFINITY;  // the score of a key that is not seen

// Arguments of attend_tiles; PagedAttention with pointers of the device's types.
struct AttentionArguments {
  const __nv_bfloat16 *q, *pool;
  const AttentionTile* tiles;
  const int32_t *counts, *pages;
  const int64_t* key_limits;
  const int32_t* first_share;
  __nv_bfloat16* partial_out;
  float* partial_log;
  float scale_log2;  // of the scores, times log2(e)
  int heads, kv_heads;
  int group, inverse_group;  // heads / kv_heads; 2^16 divided by it, rounded up

  // Of a tile's column, which is one of its rows with one of the heads of a group: the row.
  __device__ int row_of(int column) const { return column * inverse_group >> 16; }
  // Where a column is in an array [.., heads] that has its row at `at`.
  __device__ int64_t place_of(int at, int column, int kv_head) const {
    return int64_t{at} * heads + kv_head * group + column - row_of(column) * group;
  }
  // Where a tile's row has its share.
  __device__ int share_of(const AttentionTile& tile, int row) const {
    return first_share[tile.first_row + row] + tile.ordinal;
  }
};

// Tasks lie side by side, the costliest first, and so every other round of dealing them goes backwards:
// whoever had the costliest of one has the cheapest of the next. The task of `hand` among `hands`.
__device__ inline int dealt(int round, int hand, int hands) {
  return round * hands + (round % 2 == 0 ? hand : hands - 1 - hand);
}

}  // namespace bicrl::gpu
