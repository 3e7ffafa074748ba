// A step that is generated while the one before it is trained (trainer.max_staleness: 1). Which weights
// generate it follows from its number alone: the first step of a phase is generated with those that it begins
// with, any other with those that the one before began with. Plain value.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "trainer/experience/experience_collector.h"

namespace bicrl {

struct GeneratedAhead {
  int64_t step = 0;
  int64_t policy_version = 0;  // that generates it
  double generated_tokens = 0;
  double forwards = 0;
  // None if a stop left verdicts missing, or the run goes on from a checkpoint: it is made from the saved
  // rollouts then.
  std::optional<CollectedStep> collected;

  nlohmann::json to_json() const {
    return {{"step", step},
            {"policy_version", policy_version},
            {"generated_tokens", generated_tokens},
            {"forwards", forwards}};
  }
  static GeneratedAhead from_json(const nlohmann::json& json) {
    GeneratedAhead ahead;
    ahead.step = json.at("step");
    ahead.policy_version = json.at("policy_version");
    ahead.generated_tokens = json.at("generated_tokens");
    ahead.forwards = json.at("forwards");
    return ahead;
  }
};

}  // namespace bicrl
