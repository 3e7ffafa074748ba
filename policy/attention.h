// How the transformer attends, behind one interface: the layers are the same for rollout and trainer, only
// the attention context differs.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace bicrl {

// Attention of one forward pass over T packed tokens (no batch dimension, no padding).
// Not thread-safe; lives for one forward (packed) or one engine (cached).
class AttentionContext {
 public:
  virtual ~AttentionContext() = default;
  // q: [T, heads, head_dim], k, v: [T, kv_heads, head_dim], RoPE already applied. Returns [T, heads,
  // head_dim]. Called once per layer, in order. Differentiable if the inputs are.
  virtual at::Tensor attend(int64_t layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) = 0;
};

}  // namespace bicrl
