// One forward (and backward) of the policy over a packed batch: log-probabilities of the scored tokens only,
// in chunks, so that [tokens, vocabulary] logits never exist. Refers to the policy, which must outlive it.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>

#include "policy/packed_attention.h"
#include "policy/transformer.h"
#include "trainer/update/packing.h"

namespace bicrl {

// Scored tokens [begin, begin + rows) of a batch.
struct ScoredChunk {
  int64_t begin = 0;
  at::Tensor log_probs;  // [rows] fp32, differentiable
  at::Tensor entropy;    // [rows] fp32, of the policy's distribution; not differentiable

  // The chunk's part of one of the batch's [scored] tensors.
  at::Tensor part(const at::Tensor& per_token) const;
};

class ScoredPass {
 public:
  // So many rows have logits at a time.
  static int64_t rows_per_chunk(const PolicyConfig& config, c10::DeviceType device);

  // `allowed` [vocab] and `temperature` define the policy's distribution (policy/distribution.h).
  ScoredPass(const Transformer& policy, at::Tensor allowed, double temperature);

  // [scored] fp64, without a graph.
  at::Tensor log_probs(const PackedBatch& batch) const;
  // Adds the gradient of the sum of `loss` over all chunks to the .grad of what is trained, which must
  // require gradients (GradientScope).
  void backward(const PackedBatch& batch, const std::function<at::Tensor(const ScoredChunk&)>& loss) const;

 private:
  PackedAttention attention_of(const PackedBatch& batch) const;
  at::Tensor scored_hidden(const PackedBatch& batch, PackedAttention& attention) const;  // [scored, hidden]
  at::Tensor chunk_logits(const at::Tensor& rows) const;  // [rows, vocab] fp32, a leaf that takes a gradient
  ScoredChunk score(const at::Tensor& logits, const PackedBatch& batch, int64_t begin) const;
  at::Tensor head_backward(const at::Tensor& logits_gradient, const at::Tensor& rows) const;
  int64_t rows_per_chunk() const { return rows_per_chunk(policy_.config(), policy_.device().type()); }

  const Transformer& policy_;
  at::Tensor allowed_;
  double temperature_;
};

}  // namespace bicrl
