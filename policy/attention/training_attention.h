// The seam between a trainer and what computes the attention of a pack: backends say what they can do and
// how much memory they take, and make the attention of one pack, whose forward and backward passes can be
// called apart or through autograd.
//
//   const auto backend = ...;                                  // one per policy: an AttentionBackend
//   const auto attention = backend->make(segments, rows);      // one per pack, on the host alone
//   attention->upload();                                       // optional: ahead of the first pass
//   policy.hidden(tokens, positions, *attention);              // through autograd, or:
//   attention->forward(q, k, v, out, state);  ...  attention->backward(grad_out, q, k, v, out, state, ...);
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policy/attention/attention.h"
#include "policy/attention/packed_segment.h"
#include "policy/policy_config.h"

namespace bicrl {

// What all layers of a policy have in common.
struct AttentionShape {
  int64_t heads = 0, kv_heads = 0, head_dim = 0, block_size = 0;
  at::ScalarType dtype = at::kFloat;
  at::Device device = at::kCPU;

  static AttentionShape of(const PolicyConfig& config, at::ScalarType dtype, at::Device device);
};

// Bytes that attention to one pack takes.
struct AttentionMemory {
  int64_t plan_bytes = 0;      // on the device, for as long as the pack's attention exists
  int64_t kept_bytes = 0;      // of a layer, from its forward to its backward pass: `out` and `state`
  int64_t forward_bytes = 0;   // while a forward pass runs, beside its arguments
  int64_t backward_bytes = 0;  // while a backward pass runs, beside its arguments
};

// Attention of one pack, for all layers, as often as is wanted (what is recomputed attends again). Tensors of
// heads are [rows, heads or kv_heads, head_dim]; a row's heads lie side by side, and rows may be further
// apart (slices of a fused product), except in `out` and `grad_out`, which are contiguous. The calls use the
// current stream, do not wait for it, and allocate from torch's allocator alone. One thread at a time; must
// outlive the backward passes that it is to serve.
class TrainingAttention : public AttentionContext {
 public:
  virtual int64_t rows() const = 0;
  // Starts the plan's copy to the device on the current stream; else the first pass does.
  virtual void upload() {}

  // What `backward` needs beside the arguments of `forward` and `out`: a tensor of so many elements.
  virtual int64_t state_elements(const at::Tensor& q) const = 0;
  // Writes `out` and `state`. q is rotated and not scaled: the scores are q k / sqrt(head_dim).
  virtual void forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& out,
                       const at::Tensor& state) = 0;
  // Writes (and does not add) the gradients.
  virtual void backward(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k,
                        const at::Tensor& v, const at::Tensor& out, const at::Tensor& state,
                        const at::Tensor& grad_q, const at::Tensor& grad_k, const at::Tensor& grad_v) = 0;

  // As `state` is to be: fp64 for fp64, else fp32.
  at::Tensor new_state(const at::Tensor& q) const;

  // Through autograd.
  at::Tensor attend(int64_t layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) override;
};

// One way of computing it, for the layers of one policy. Immutable and thread-safe.
class AttentionBackend {
 public:
  virtual ~AttentionBackend() = default;
  virtual std::string name() const = 0;
  virtual AttentionMemory memory(const std::vector<PackedSegment>& segments, int64_t rows) const = 0;
  // The segments must tile the rows [0, rows). Throws Error if they do not.
  virtual std::unique_ptr<TrainingAttention> make(const std::vector<PackedSegment>& segments,
                                                  int64_t rows) const = 0;
};

// By torch's operators (packed_attention.h): any type, device and shape.
std::unique_ptr<AttentionBackend> operator_attention(const AttentionShape& shape);

// Runs `tested` and, beside it, `trusted`: results are those of `tested`, and Error is thrown, naming tensor,
// row and head, if a result is further from the trusted one than `tolerance` times the root mean square of
// that tensor. Waits for the device; for tests and for whoever suspects a backend.
std::unique_ptr<AttentionBackend> checked_attention(std::unique_ptr<AttentionBackend> tested,
                                                    std::unique_ptr<AttentionBackend> trusted,
                                                    double tolerance);

}  // namespace bicrl
