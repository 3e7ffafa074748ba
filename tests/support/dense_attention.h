// Attention under an explicit mask: the plain definition that every faster attention is compared with.
// Quadratic in memory.
#pragma once
#include <ATen/core/Tensor.h>

#include "policy/attention/attention.h"

namespace bicrl::testing {

// Grouped-query softmax attention, scale 1/sqrt(head_dim), scores and softmax in fp32 (fp64 if the inputs
// are). Holds the mask by reference count. Not thread-safe across different masks; attend() itself keeps no
// state.
class DenseMaskAttention : public AttentionContext {
 public:
  // mask: [T, T] bool, row = query, true = may attend. Every row must have a true entry.
  explicit DenseMaskAttention(at::Tensor mask);
  at::Tensor attend(int64_t layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) override;

 private:
  at::Tensor masked_;  // [T, T] bool: keys that a row may not see
};

// [T, T] bool: position i attends to positions below block_size * (i / block_size + 1).
at::Tensor block_causal_mask(int64_t tokens, int64_t block_size, at::Device device);

}  // namespace bicrl::testing
