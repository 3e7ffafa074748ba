#include "trainer/update/objective/surrogate.h"

#include <ATen/ATen.h>

#include "common/error.h"

namespace bicrl {
namespace {

// Beyond this log-ratio a token says nothing but that the two policies differ; the clamp keeps exp() finite.
constexpr double kMaxLogRatio = 10;

at::Tensor estimate_kl(const at::Tensor& difference, const at::Tensor& log_probs, KlEstimator estimator) {
  switch (estimator) {
    case KlEstimator::kK1:
      return difference.detach() * (1 + log_probs - log_probs.detach());
    case KlEstimator::kK2:
      return difference.square() * 0.5;
    case KlEstimator::kK3:
      return difference.neg().expm1() + difference;
  }
  BICRL_CHECK(false, "unknown KL estimator");
  return {};
}

}  // namespace

SurrogateSettings SurrogateSettings::from_config(const ConfigSection& section, double temperature) {
  SurrogateSettings s;
  s.clip_low = section.real("clip_low", s.clip_low, 0, 1);
  s.clip_high = section.real("clip_high", s.clip_high, 0);
  s.dual_clip = section.real("dual_clip", s.dual_clip, 0);
  if (s.dual_clip > 0 && s.dual_clip <= 1 + s.clip_high)
    section.reject("dual_clip", "must be 0 (none) or above 1 + clip_high, where the other clip ends");
  s.kl_weight = section.real("kl_weight", s.kl_weight, 0);
  const auto kl = section.choice("kl_estimator", "k3", {"k1", "k2", "k3"});
  s.kl_estimator = kl == "k1" ? KlEstimator::kK1 : kl == "k2" ? KlEstimator::kK2 : KlEstimator::kK3;
  const auto reference = section.choice("kl_reference", "behaviour", {"behaviour", "initial", "stage"});
  s.kl_reference = reference == "initial" ? KlReference::kInitial
                   : reference == "stage" ? KlReference::kStage
                                          : KlReference::kBehaviour;
  const auto normaliser = section.choice("normaliser", "tokens", {"tokens", "sequences", "constant"});
  s.normaliser = normaliser == "tokens"      ? Normaliser::kTokens
                 : normaliser == "sequences" ? Normaliser::kSequences
                                             : Normaliser::kConstant;
  if (s.normaliser == Normaliser::kConstant)
    s.normaliser_tokens = section.real("normaliser_tokens", s.normaliser_tokens, 1);
  else
    section.refuse_without_effect("normaliser_tokens", "without 'normaliser: constant'");
  s.temperature = temperature;
  return s;
}

SurrogateTerms surrogate_terms(const at::Tensor& log_probs, const at::Tensor& old_log_probs,
                               const at::Tensor& reference_log_probs, const at::Tensor& advantages,
                               const SurrogateSettings& settings) {
  const auto ratio = (log_probs - old_log_probs).clamp(-kMaxLogRatio, kMaxLogRatio).exp();
  const auto divergence = (log_probs - reference_log_probs).clamp(-kMaxLogRatio, kMaxLogRatio);
  const auto free_gain = ratio * advantages;
  const auto clipped_gain = ratio.clamp(1 - settings.clip_low, 1 + settings.clip_high) * advantages;
  auto gain = at::minimum(free_gain, clipped_gain);
  auto clipped = clipped_gain.detach().lt(free_gain.detach());
  if (settings.dual_clip > 0) {
    const auto held = advantages.lt(0) & ratio.detach().gt(settings.dual_clip);
    gain = at::where(held, advantages * settings.dual_clip, gain);
    clipped = clipped | held;
  }
  return {gain.neg(), estimate_kl(divergence, log_probs, settings.kl_estimator), clipped};
}

double sequence_scale(int64_t scored_tokens, const ScoredCounts& minibatch,
                      const SurrogateSettings& settings) {
  if (scored_tokens == 0) return 0;
  const auto tokens = static_cast<double>(scored_tokens);
  const auto sequences = static_cast<double>(minibatch.sequences);
  switch (settings.normaliser) {
    case Normaliser::kTokens:
      return 1.0 / static_cast<double>(minibatch.tokens);
    case Normaliser::kSequences:
      return 1.0 / (sequences * tokens);
    case Normaliser::kConstant:
      return 1.0 / (sequences * settings.normaliser_tokens);
  }
  BICRL_CHECK(false, "unknown normaliser");
  return 0;
}

}  // namespace bicrl
