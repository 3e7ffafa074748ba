// Candidates for masked positions: one token per row with its log-probability and its confidence, all on the
// logits' device. Pure functions; thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace bicrl {

struct SamplingSettings {
  // 0 is greedy: the most probable id (the lowest of equals), under the distribution at temperature 1.
  double temperature = 1.0;
  // Restrict the drawing only; 0 and 1.0 turn them off. Ties with the k-th id are kept.
  int64_t top_k = 0;
  double top_p = 1.0;
  // The published behaviour: confidence after the restriction (always 1 with top_k 1).
  bool reference_confidence = false;
  bool is_restricted() const { return top_k > 0 || top_p < 1.0; }
  bool operator==(const SamplingSettings&) const = default;
};

struct Candidates {
  at::Tensor tokens;         // [N] int64
  at::Tensor log_probs;      // [N] fp32, under the policy's unrestricted distribution
  at::Tensor confidence;     // [N] fp32
  at::Tensor entropy;        // [N] fp32, nats, of the same distribution as log_probs; only if asked for
  at::Tensor all_log_probs;  // [N, vocab] fp32, that distribution
  at::Tensor kept;           // [N, vocab] bool, the ids that were drawn among; undefined: no restriction
};

// logits: [N, vocab] fp32; allowed: [vocab] bool; uniforms: [N] fp64 in [0, 1), one for each row, so that a
// row's draw depends on nothing else in the batch.
Candidates sample_candidates(const at::Tensor& logits, const at::Tensor& allowed, const at::Tensor& uniforms,
                             const SamplingSettings& settings, bool with_entropy = false);

}  // namespace bicrl
