// A pack of ragged segments in every form, random heads, and what attention to it comes to in fp64 and by
// torch's operators in bf16.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <string>
#include <vector>

#include "policy/attention/pack_attention_plan.h"

namespace bicrl::testing {

struct PackCaseShape {
  int64_t heads = 2, kv_heads = 1, head_dim = 64, block_size = 4;
  int64_t scale = 1;             // segments are so many times as long as those for the PTX interpreter
  at::Device device = at::kCPU;  // where the case's tensors are
};

// Of one pass in both directions.
struct PackResults {
  at::Tensor out, grad_q, grad_k, grad_v;  // [rows, heads or kv_heads, head_dim]
};
bool same_bits(const PackResults& a, const PackResults& b);

// Prompts and responses that share them, with and without clean rows, noisy blocks and prefixes; a sole
// block, clean or noisy; noisy blocks that see a part of their prefix, in one order or another; a noisy block
// last.
std::vector<PackedSegment> ragged_segments(int64_t block_size, int64_t scale);

class PackCase {
 public:
  explicit PackCase(const PackCaseShape& shape);
  PackCase(const PackCaseShape& shape, std::vector<PackedSegment> segments);

  PackCaseShape shape;
  std::vector<PackedSegment> segments;
  int64_t rows = 0;
  // q, k and v are slices of one product; other columns are NaN, as are the rows behind the last one.
  at::Tensor product;        // [rows + .., heads + 2 kv_heads + 1, head_dim] bf16
  at::Tensor q, k, v;        // [rows, .., head_dim]
  at::Tensor grad_out;       // [rows, heads, head_dim] bf16
  PackResults exact;         // fp64
  PackResults by_operators;  // bf16

  // All rows weigh the keys that they see alike, values are 0 or 1, and gradients of outputs are 0 or the
  // number of keys that a row sees: outputs and gradients of values become counts.
  static PackCase counting(const PackCaseShape& shape);
  // That counts are those of the mask, wherever bf16 tells them from their neighbours.
  void check_counts(const PackResults& results) const;

  std::string name() const;
  PackAttentionShape plan_shape(int64_t processors) const;
  // Nearly as close to fp64 as torch's operators are, in the mean and at worst.
  void check(const PackResults& results) const;

 private:
  void compute_expected();
};

}  // namespace bicrl::testing
