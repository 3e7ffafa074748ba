#include "rollout/decoding_settings.h"

namespace bicrl {
namespace {

constexpr int64_t kMaxCount = int64_t{1} << 40;

bool reads_confidence(AcceptanceStrategy strategy) {
  return strategy == AcceptanceStrategy::kLowConfidenceStatic ||
         strategy == AcceptanceStrategy::kLowConfidenceDynamic;
}

AcceptanceSettings acceptance_from(const ConfigSection& section) {
  AcceptanceSettings s;
  const std::string name = section.choice("strategy", "low_confidence_dynamic", acceptance_strategy_names());
  s.strategy = parse_acceptance_strategy(name);
  const auto refuse = [&](const char* key) {
    section.refuse_without_effect(key, concat("with 'strategy: ", name, "'"));
  };
  // Declared for the strategy that reads it, so that the resolved configuration can be read again.
  if (s.strategy == AcceptanceStrategy::kLowConfidenceDynamic)
    s.threshold = section.real("threshold", s.threshold, 0.0, 1.0);
  else
    refuse("threshold");
  if (s.strategy == AcceptanceStrategy::kEntropyBounded)
    s.entropy_bound = section.real("entropy_bound", s.entropy_bound, 0.0);
  else
    refuse("entropy_bound");
  return s;
}

SamplingSettings sampling_from(const ConfigSection& section, AcceptanceStrategy strategy) {
  SamplingSettings s;
  const auto restriction = [&] {
    s.top_k = section.integer("top_k", SamplingSettings().top_k, 0, kMaxCount);
    s.top_p = section.real("top_p", SamplingSettings().top_p, 0.0, 1.0);
    return s.top_k > 0 || s.top_p < 1.0;
  };
  s.temperature = section.real("temperature", s.temperature, 0.0, 100.0);
  s.reference_confidence = section.boolean("reference_confidence", s.reference_confidence);
  // A greedy response takes the most probable token, which no restriction leaves out.
  if (s.temperature == 0 && !s.reference_confidence && restriction())
    for (const char* key : {"top_k", "top_p"}) section.refuse_without_effect(key, "at temperature 0");
  const bool restricted = restriction();
  if (s.reference_confidence && !reads_confidence(strategy))
    section.reject("reference_confidence", "has no effect with a strategy that does not go by confidence");
  if (s.reference_confidence && !restricted)
    section.reject("reference_confidence",
                   "has no effect without 'top_k' or 'top_p': it is the confidence after their restriction");
  return s;
}

}  // namespace

DecodingSettings DecodingSettings::from_config(const ConfigSection& section) {
  DecodingSettings s;
  s.max_new_tokens = section.integer("max_new_tokens", s.max_new_tokens, 1, kMaxCount);
  s.denoise_steps = section.integer("denoise_steps", s.denoise_steps, 0, kMaxCount);
  s.acceptance = acceptance_from(section);
  s.sampling = sampling_from(section, s.acceptance.strategy);
  s.scaffold = parse_scaffold(section.choice("scaffold", "clamp", {"clamp", "prompt"}));
  s.max_active = section.integer("max_active", s.max_active, 1, kMaxCount);
  s.cache_tokens = section.integer("cache_tokens", s.cache_tokens, 0, kMaxCount);
  s.prefill_tokens = section.integer("prefill_tokens", s.prefill_tokens, 1, kMaxCount);
  return s;
}

}  // namespace bicrl
