// Metrics that one training step reports: on the terminal as one line, in metrics.jsonl as one entry.
#pragma once
#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/field_count.h"
#include "episode/figures.h"
#include "reward/advantage.h"
#include "trainer/ranks/measured_tensors.h"
#include "trainer/update/update_figures.h"

namespace bicrl {

// Wall-clock seconds: of one rank, or of the slowest one.
struct StepSeconds {
  double rollout = 0;
  double verify_wait = 0;  // after the last response was generated, and for windows before it
  double exchange = 0;     // of what ranks have, the wait for the slowest of them included
  double train = 0;
  double collectives = 0;  // of all of it: in which the rank waited for tensors of other ranks
  double step = 0;
};

// All of them, as `rank_seconds` of metrics.jsonl has them.
struct StepSecondsField {
  const char* key;
  double StepSeconds::*value;
  bool of_responses;  // steps without responses have none
};
inline constexpr std::array kStepSeconds = {StepSecondsField{"rollout", &StepSeconds::rollout, true},
                                            StepSecondsField{"verify_wait", &StepSeconds::verify_wait, true},
                                            StepSecondsField{"exchange", &StepSeconds::exchange, true},
                                            StepSecondsField{"train", &StepSeconds::train, false},
                                            StepSecondsField{"collectives", &StepSeconds::collectives, false},
                                            StepSecondsField{"step", &StepSeconds::step, false}};
static_assert(kStepSeconds.size() == field_count<StepSeconds>(), "a new time needs a row here");

// Wall-clock seconds for checkpoints since the step before, of the slowest rank.
struct CheckpointSeconds {
  double stall = 0;  // in which the run waited: for copies, for a writer, for the disk
  double write = 0;  // that it took to write what became a checkpoint meanwhile; 0: none did
};

// How busy machines were.
struct StepLoad {
  int64_t generators = 1, trainers = 1;  // ranks; all of them are both, but in a split run
  int64_t memory_peak_bytes =
      0;                       // since the start, of the rank with the largest (run_memory.h); 0: not known
  int64_t verifier_queue = 0;  // verdicts that were missing when the last response was there, of all ranks
  std::optional<double> mfu;   // of the update (model_flops.h); none where the device's peak is not known
  CollectiveAccount collectives;  // of rank 0, since the step before; empty with one rank
  std::vector<StepSeconds> seconds_of_ranks;
};

// How the figures of responses came about.
struct ResponseMeaning {
  bool verified = true;  // whether there are rewards at all; not so in a replay of rollouts alone
  std::string reward_rule;
  AdvantageSettings advantage{};
  std::string clock;  // of the times that rewards of the run use; empty: none does
};

// Made when the step has ended; over all ranks.
struct StepMetrics {
  std::string phase;  // "warm_up", "infilling", "end_to_end"
  int64_t step = 0;   // 1-based within the phase
  int64_t steps = 0;
  int64_t epoch = 0;  // 1-based, in a warm-up by epochs; else 0, as the next
  int64_t epochs = 0;
  std::optional<StepFigures> responses;  // none in a supervised step
  ResponseMeaning meaning{};
  UpdateStatistics update{};  // zeros in a step that makes none
  StepSeconds seconds{};
  CheckpointSeconds saving{};
  StepLoad load{};

  double tokens_per_second() const;  // generated, of the whole step
  // Of one rank that does so, on average: generated while it generates, and rows of packs while it trains.
  double rank_generated_per_second() const;
  double rank_trained_per_second() const;
};

// "infilling 3/20 | reward 0.41 +-0.49 | compile 93 % | correct 41 % | ... | ETA 1:20"
std::string step_line(const StepMetrics& metrics, double eta_seconds,
                      std::optional<double> run_eta_seconds = std::nullopt);
nlohmann::json to_json(const StepMetrics& metrics);

}  // namespace bicrl
