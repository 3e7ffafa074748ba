// Attention interface of the transformer: the layers are the same for rollout and trainer, only the attention
// context differs.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace bicrl {

// Cosines and signed sines of one forward, so that rotate-half is x * cos + roll(x) * sin.
struct Rotation {
  at::Tensor cos, sin;  // [T, 1, head_dim] fp32

  // x: [T, heads, head_dim]; computed in fp32, returned in x's type.
  at::Tensor apply(const at::Tensor& x) const;
};

// What a layer's projections give to attention, and what becomes of it on the way.
struct ProjectedHeads {
  at::Tensor q, k, v;         // [T, heads, head_dim], k and v [T, kv_heads, head_dim]
  at::Tensor q_norm, k_norm;  // [head_dim] weights of the RMS norms
  double eps = 0;             // of the norms
  const Rotation& rotation;
};

// Attention of one forward pass over T packed tokens (no batch dimension, no padding).
// Not thread-safe; lives for one forward (packed) or one engine (cached).
class AttentionContext {
 public:
  virtual ~AttentionContext() = default;
  // q: [T, heads, head_dim], k, v: [T, kv_heads, head_dim], RoPE already applied. Returns [T, heads,
  // head_dim]. Called once per layer, in order. Differentiable if the inputs are.
  virtual at::Tensor attend(int64_t layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) = 0;
  // The same of heads that are neither normed nor rotated yet; a context may have a faster way to the same
  // bits.
  virtual at::Tensor attend_projected(int64_t layer, const ProjectedHeads& heads);
};

}  // namespace bicrl
