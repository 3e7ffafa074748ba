// Attention to a pack by torch's operators: segments of similar shape share batched products over gathered
// copies of their rows, and every row's own block is one more. Any type, device and shape; what the kernels
// of policy/gpu cannot do falls back to it, and tests of them compare with it in fp64.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "policy/attention/training_attention.h"

namespace bicrl {

struct PackedAttentionPlan;

// Works in fp32, fp64 and (scores in fp32) bf16. Immutable after construction.
class PackedAttention : public TrainingAttention {
 public:
  // The segments must tile the rows [0, tokens). Throws Error if they do not.
  PackedAttention(const std::vector<PackedSegment>& segments, int64_t tokens, int64_t block_size,
                  at::Device device);
  int64_t rows() const override;
  // Log-sum-exp of each row and head and, where `out` is rounded, what it was before.
  int64_t state_elements(const at::Tensor& q) const override;
  void forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& out,
               const at::Tensor& state) override;
  void backward(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                const at::Tensor& out, const at::Tensor& state, const at::Tensor& grad_q,
                const at::Tensor& grad_k, const at::Tensor& grad_v) override;

 private:
  std::shared_ptr<const PackedAttentionPlan> plan_;
};

}  // namespace bicrl
