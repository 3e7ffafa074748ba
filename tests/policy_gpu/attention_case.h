// Attention over a cache of random keys and values: ragged segments in every form, shared prompts, and what
// it comes to in fp64.
#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "policy/attention/attention_planner.h"
#include "policy/attention/attention_tiles.h"

namespace bicrl::testing {

struct AttentionShape {
  int64_t heads = 4, kv_heads = 2, head_dim = 64, block_size = 4;
  int64_t tile_keys = 128;  // so few that rows have many shares
  int64_t few = 0;          // TileLimits::few and few_of_warps
};

class AttentionCase {
 public:
  explicit AttentionCase(const AttentionShape& shape);

  AttentionShape shape;
  AttentionTiles tiles;
  int64_t rows = 0;
  std::vector<int32_t> pages;
  std::vector<int64_t> key_limits;
  at::Tensor q;         // [rows, heads, head_dim] bf16
  at::Tensor pool;      // [.., 2, kv_heads, head_dim] bf16; NaN where nobody may look
  at::Tensor expected;  // [rows, heads, head_dim] fp64

  int64_t share_rows() const { return tiles.shares(); }
  float scale() const;

 private:
  at::Tensor attend_row(const AttentionPlan& plan, size_t segment, int64_t row) const;
};

}  // namespace bicrl::testing
