// The phases of a run: the supervised warm-up, and each stage of reinforcement. A phase does one step at a
// time and can be left and taken up again between any two steps. One object per rank; steps are collective.
#pragma once
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "episode/episode.h"
#include "episode/figures.h"
#include "trainer/experience/generation_record.h"
#include "trainer/run/reports/step_metrics.h"
#include "trainer/run/reports/text_archive.h"
#include "trainer/run/run_context.h"
#include "trainer/run/run_settings.h"

namespace bicrl {

// What one rank knows of a step that it has taken.
struct PhaseStep {
  std::optional<StepFigures> responses;  // over all ranks; none in a supervised step
  ResponseMeaning meaning;
  std::vector<Episode> episodes;  // CollectedStep::log; on rank 0, with the texts of all that may be samples
  std::map<EpisodeKey, TokenTexts> tokens{};  // on rank 0, of all that may be samples
  UpdateTotals update;                        // of this rank
  StepSeconds seconds;                        // of this rank; that of the whole step is the run's business
  int64_t verifier_queue = 0;                 // of this rank: StepLoad
  GenerationRecord generation{};              // of this rank; empty in a supervised step
};

// The name of the warm-up; stages have those of their Stage.
inline constexpr std::string_view kWarmUpPhase = "warm_up";

class Phase {
 public:
  Phase(std::string name, int64_t steps) : name_(std::move(name)), steps_(steps) {}
  virtual ~Phase() = default;
  const std::string& name() const { return name_; }  // unique within the run
  int64_t steps() const { return steps_; }
  // The stage of reinforcement that it is; none for the warm-up.
  virtual std::optional<Stage> stage() const { return std::nullopt; }

  // What it rewards by; null in the warm-up.
  virtual const RewardFunction* reward() const { return nullptr; }

  // Of reinforcement, over all ranks; 0 in the warm-up.
  virtual int64_t responses_per_step() const { return 0; }

  // Of a warm-up by epochs; else 0.
  virtual int64_t steps_per_epoch() const { return 0; }

  // Makes the updater ready for this phase's first step.
  virtual void begin() = 0;
  // Step number `step` (1-based). Throws StepAborted, or another Error if the policy may have changed.
  virtual PhaseStep step(int64_t step, int64_t policy_version) = 0;
  // Saves what the update of the latest step was made of, for whoever looks for the cause of a bad one, and
  // says in one sentence where. Never throws.
  virtual std::string keep_batch() = 0;
  // Everything beside policy and optimizer that decides later steps.
  virtual nlohmann::json state() const { return nullptr; }
  virtual void restore(const nlohmann::json&) {}
  // On rank 0: of what the phase keeps in the run directory for checkpoints within it, only that of those
  // after these steps is still needed.
  virtual void keep_for_checkpoints(const std::set<int64_t>& /*steps*/) {}

 private:
  std::string name_;
  int64_t steps_;
};

std::unique_ptr<Phase> make_warm_up_phase(const RunContext& context, const std::string& name);
std::unique_ptr<Phase> make_stage_phase(const RunContext& context, const std::string& name,
                                        size_t stage_index);

// A step that could not be taken. Policy and optimizer are as they were before it, so that the run can be
// saved.
class StepAborted : public SharedError {
 public:
  using SharedError::SharedError;
};

// A stop came while the step waited for verdicts; those that came are in the ledger.
class StepInterrupted : public StepAborted {
 public:
  using StepAborted::StepAborted;
};

}  // namespace bicrl
