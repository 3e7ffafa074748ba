// The clipped surrogate: what most objectives minimise at a scored token, its parameters, and how token
// losses become one number. Pure functions on tensors; differentiable in the new log-probabilities;
// thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "common/config/config.h"

namespace bicrl {

// Estimators of KL(new || reference) from d = logp_new - logp_reference: d, d^2 / 2, exp(-d) - 1 + d. The
// derivative of d itself would not know the reference; k1 has the one of the divergence that it estimates,
// d times that of logp_new.
enum class KlEstimator { kK1, kK2, kK3 };

// What the policy is held near to: the policy that sampled, or a frozen copy of the one with which
// reinforcement or the present stage began. The first is the policy itself at the first update of a step,
// where the gradient of the divergence is zero.
enum class KlReference { kBehaviour, kInitial, kStage };
constexpr bool is_frozen_copy(KlReference reference) { return reference != KlReference::kBehaviour; }

// What the sum of token losses is divided by: the update's scored tokens; its responses, each averaged over
// its own scored tokens; or its responses times a constant number of tokens (as published).
enum class Normaliser { kTokens, kSequences, kConstant };

// Parameters of every objective, whatever it scores.
struct SurrogateSettings {
  double clip_low = 0.2;
  double clip_high = 0.2;
  double dual_clip = 0;  // ratio above which a negative advantage pushes no further; 0: no such bound
  double kl_weight = 0;
  KlEstimator kl_estimator = KlEstimator::kK3;
  KlReference kl_reference = KlReference::kBehaviour;
  Normaliser normaliser = Normaliser::kTokens;
  double normaliser_tokens = 1024;  // for kConstant
  double temperature = 1;           // the one that the rollouts were sampled at

  // `temperature` is not read here: it belongs to the rollout's section.
  static SurrogateSettings from_config(const ConfigSection& section, double temperature);
};

// All [tokens], unweighted.
struct SurrogateTerms {
  // -min(ratio A, clip(ratio) A), ratio = exp(clamp(d, -10, 10)); where A < 0 at most -dual_clip A
  at::Tensor policy;
  at::Tensor kl;
  at::Tensor clipped;  // bool: the clip holds this token's gradient back
};
// `reference_log_probs`: of the policy that kl_reference names.
SurrogateTerms surrogate_terms(const at::Tensor& log_probs, const at::Tensor& old_log_probs,
                               const at::Tensor& reference_log_probs, const at::Tensor& advantages,
                               const SurrogateSettings& settings);

// Of a whole minibatch, over all ranks and before any packing; sequences without a scored token count
// nowhere.
struct ScoredCounts {
  int64_t tokens = 0;
  int64_t sequences = 0;

  void add(int64_t scored_tokens) {
    tokens += scored_tokens;
    sequences += scored_tokens > 0;
  }
};

// Factor of the token losses of a sequence with so many scored tokens.
double sequence_scale(int64_t scored_tokens, const ScoredCounts& minibatch,
                      const SurrogateSettings& settings);

}  // namespace bicrl
