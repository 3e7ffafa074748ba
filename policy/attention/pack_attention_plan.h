// Tiling of the attention to a pack, for kernels that take limits in place of a mask. Tiles of query rows go
// over the keys that they see (forward, and the gradient of q), tiles of keys over the query rows that see
// them (the gradients of k and v). Tiles are dealt out to processors in advance, so that every sum is added
// up in one order. Free of torch and CUDA; plain integers, which kernels read as they are.
//
// A prompt's keys are seen by all responses of a group, so that its tiles would take many times as long as
// others. Such a tile is cut into parts of consecutive runs, each of which sums into memory of its own; a
// last kernel adds the parts up in their order. There are some three parts a processor, each with fp32
// gradients of k and v for 128 keys: about 52 MB for the 132 processors of an H100 at head_dim 128, whatever
// the size of the group (25 to 34 MB for 8 responses of 1,024 and for 16 of 512).
//
// The unit of query rows is a run: consecutive rows of a segment of which all query heads of one key head
// together fill the 64 rows of a product. The unit of keys is a chunk of 64 rows. Keys have positions in the
// context of a segment: the prefix's rows, then the segment's own clean rows.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "policy/attention/packed_segment.h"

namespace bicrl {

constexpr int32_t kRunProductRows = 64;  // (row, query head) pairs of a run, at most
constexpr int32_t kChunkKeys = 64;
constexpr int32_t kKeyTileRows = 2 * kChunkKeys;

struct PackAttentionShape {
  int64_t heads = 0, kv_heads = 0, head_dim = 0, block_size = 0;
  int64_t processors = 1;  // that tiles are dealt out to

  int64_t group() const { return heads / kv_heads; }
  // Rows of a run: whole blocks, or a whole part of one.
  int64_t run_rows() const;
};

// Rows [first_row, first_row + rows) of a segment, and how many keys of the context they see.
struct QueryRun {
  int32_t first_row = 0, rows = 0;
  int32_t least_limit = 0, largest_limit = 0;
};

// One or two neighbouring runs of a segment.
struct QueryTile {
  int32_t first_run = 0, runs = 0;
  int32_t noisy_begin = 0;                    // rows from here on see their own block, too
  int32_t prefix_begin = 0, prefix_rows = 0;  // rows of the context's first positions
  int32_t own_begin = 0;                      // row of the position prefix_rows
  int32_t context = 0;                        // largest limit of its runs
  int32_t own_chunks = 0;                     // chunks of its rows' own blocks
};

// A tile of query rows for all query heads of a key head.
struct QueryTask {
  int32_t tile = 0, kv_head = 0;
};

// Keys [first_row, first_row + rows) of the pack.
struct KeyTile {
  int32_t first_row = 0, rows = 0;
};

// Consecutive runs that see keys of a tile.
struct KeyUse {
  int32_t first_run = 0, runs = 0;
  // Of a context: a key's position is its row less `base`, and the rows [begin, end) are in it. Of a run's
  // own block (is_own_block) base, begin and end are of no meaning.
  int32_t base = 0, begin = 0, end = 0;
  int32_t is_own_block = 0;
};

// `steps` runs that see a tile of keys, beginning with the run `skipped` of `first_use`.
struct KeyTask {
  int32_t tile = 0, kv_head = 0;
  int32_t first_use = 0, skipped = 0;
  int32_t steps = 0;
  int32_t part = 0;  // where its sums go; -1: they are the gradients
};

// The gradients of a tile and a key head are the sum of `parts` parts, which lie side by side.
struct KeySum {
  int32_t tile = 0, kv_head = 0;
  int32_t first_part = 0, parts = 0;
};

struct PackAttentionPlan {
  int64_t rows = 0, run_rows = 0, pairs = 0;
  std::vector<int32_t> row_limits;  // [rows]: keys of its context that a row sees
  std::vector<QueryRun> runs;
  std::vector<QueryTile> query_tiles;
  std::vector<QueryTask> query_tasks;     // of the first processor, then of the second...
  std::vector<int32_t> first_query_task;  // [processors + 1]
  std::vector<KeyTile> key_tiles;
  std::vector<KeyUse> key_uses;
  std::vector<KeyTask> key_tasks;
  std::vector<int32_t> first_key_task;  // [processors + 1]
  std::vector<KeySum> key_sums;
  int64_t key_parts = 0;
};

// Empty if there are kernels for it, else the reason why there are none.
std::string pack_attention_refusal(const PackAttentionShape& shape);

// The segments must tile the rows [0, rows). Throws Error if they do not.
PackAttentionPlan plan_pack_attention(const std::vector<PackedSegment>& segments, int64_t rows,
                                      const PackAttentionShape& shape);

}  // namespace bicrl
