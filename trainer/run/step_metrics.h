// What one training step reports: on the terminal as one line, in metrics.jsonl as one entry.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "trainer/experience/response_metrics.h"
#include "trainer/update/update_statistics.h"

namespace bicrl {

// Wall-clock seconds: of one rank, or of the slowest one.
struct StepSeconds {
  double rollout = 0;
  double verify_wait = 0;  // after the last response was generated
  double train = 0;
  double step = 0;
};

// How the figures of responses came about.
struct ResponseMeaning {
  bool verified = true;  // whether there are rewards at all; not so in a replay of rollouts alone
  std::string reward_rule;
  std::string advantage;  // kind
  std::string clock;      // of the times that rewards use; empty: they use none
};

// Made when the step has ended; over all ranks.
struct StepMetrics {
  std::string phase;  // "warm_up", "infilling", "end_to_end"
  int64_t step = 0;   // 1-based within the phase
  int64_t steps = 0;
  std::optional<ResponseMetrics> responses;  // none in a supervised step
  ResponseMeaning meaning;
  UpdateStatistics update;  // zeros in a step that makes none
  StepSeconds seconds;

  double tokens_per_second() const;  // generated
};

// "infilling 3/20 | reward 0.41 +-0.49 | compile 93 % | correct 41 % | ... | ETA 1:20"
std::string step_line(const StepMetrics& metrics, double eta_seconds);
nlohmann::json to_json(const StepMetrics& metrics);

}  // namespace bicrl
