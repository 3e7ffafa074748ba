// Passes of a policy over packed batches for training: log-probabilities of the scored tokens only, in
// chunks, so that [tokens, vocabulary] logits never exist, and their gradient. Behind one interface: by
// torch's operators and autograd (operator_pass.h), and by kernels on NVIDIA GPUs (gpu/kernel_pass.h). Refers
// to the policy, which must outlive it. Not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>

#include "policy/pass/gradient_sink.h"
#include "policy/pass/recompute.h"
#include "policy/transformer.h"
#include "trainer/update/packing/packing.h"

namespace bicrl {

// Scored tokens [begin, begin + rows) of a batch. All [rows] fp32; what is not differentiable is known before
// the gradient is asked for, and is only there until the loss has been computed.
struct ScoredChunk {
  int64_t begin = 0;
  at::Tensor log_probs;  // differentiable: of the label, or of drawing none of the token's excluded ids
                         // (ScoredToken)
  at::Tensor entropy;    // of the policy's distribution

  // The chunk's part of one of the batch's [scored] tensors.
  at::Tensor part(const at::Tensor& per_token) const;
};

class ScoredPass {
 public:
  // What is minimised: a scalar for each chunk, differentiable in its log_probs.
  using Loss = std::function<at::Tensor(const ScoredChunk&)>;

  virtual ~ScoredPass() = default;

  // Memory for passes of at most such packs, until release(). Without it each pass takes what it needs.
  virtual void reserve(const Packs::Extent& /*largest*/) {}
  virtual void release() {}

  // [scored] fp64, without a graph. `temperature` is that of the policy's distribution (distribution.h).
  virtual at::Tensor log_probs(const PackedBatch& batch, double temperature) = 0;
  // Adds the gradient of the sum of `loss` over all chunks: to `sink`, or, if the pass walks a graph, to the
  // .grad of what is trained, which must require gradients (GradientScope).
  virtual void backward(const PackedBatch& batch, double temperature, const Loss& loss,
                        GradientSink& sink) = 0;
  virtual bool walks_graph() const = 0;

  // What, asked for later, says for a person where in the backward passes since the last call a number first
  // was not finite ("pack 2, row 7, the input of layer 3's MLP"). It may wait for the device, and is to
  // be asked while parameters are what they were, before the pass is destroyed.
  using FaultReport = std::function<std::string()>;
  virtual FaultReport take_fault_report() = 0;
};

// The fastest for the policy's device, type and shape. allowed: [vocab] bool. Says once, in the log, if it is
// a slow one for want of kernels.
std::unique_ptr<ScoredPass> make_scored_pass(const Transformer& policy, at::Tensor allowed,
                                             Recompute recompute);

}  // namespace bicrl
