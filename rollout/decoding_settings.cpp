#include "rollout/decoding_settings.h"

namespace bicrl {

DecodingSettings DecodingSettings::from_config(const ConfigSection& section) {
  constexpr int64_t kMany = int64_t{1} << 40;
  DecodingSettings s;
  s.max_new_tokens = section.integer("max_new_tokens", s.max_new_tokens, 1, kMany);
  s.denoise_steps = section.integer("denoise_steps", s.denoise_steps, 0, kMany);
  s.sampling.temperature = section.real("temperature", s.sampling.temperature, 0.0, 100.0);
  s.sampling.top_k = section.integer("top_k", s.sampling.top_k, 0, kMany);
  s.sampling.top_p = section.real("top_p", s.sampling.top_p, 0.0, 1.0);
  s.sampling.reference_confidence = section.boolean("reference_confidence", s.sampling.reference_confidence);
  s.acceptance.strategy = parse_acceptance_strategy(
      section.choice("strategy", "low_confidence_dynamic", acceptance_strategy_names()));
  s.acceptance.threshold = section.real("threshold", s.acceptance.threshold, 0.0, 1.0);
  s.acceptance.entropy_bound = section.real("entropy_bound", s.acceptance.entropy_bound, 0.0);
  s.scaffold = parse_scaffold(section.choice("scaffold", "clamp", {"clamp", "prompt"}));
  s.max_active = section.integer("max_active", s.max_active, 1, kMany);
  s.cache_tokens = section.integer("cache_tokens", s.cache_tokens, 0, kMany);
  s.prefill_tokens = section.integer("prefill_tokens", s.prefill_tokens, 1, kMany);
  return s;
}

}  // namespace bicrl
