// Driver of a run's steps: the phase takes a step, the ranks exchange its results, and it is logged. One
// object per rank. Refers to what it is given. Not thread-safe.
#pragma once
#include <optional>

#include "trainer/run/idle_steps.h"
#include "trainer/run/layout/placement_trial.h"
#include "trainer/run/phases/phase.h"
#include "trainer/run/reports/run_log.h"
#include "trainer/run/reports/step_metrics.h"
#include "trainer/run/run_context.h"
#include "trainer/run/run_progress.h"
#include "trainer/run/run_ranks.h"
#include "trainer/run/run_saver.h"

namespace bicrl {

// What ranks agreed on at the end of a step. Each has its own signals and clock, and ranks that followed
// those would wait for one another.
struct StepAgreement {
  bool stop = false;
  bool checkpoint_due = false;
  bool checkpoint_written = false;  // every rank's part of the one under way
};

class RunStepper {
 public:
  // `trial`: null unless steps decide where ranks generate.
  RunStepper(const RunContext& context, const RunRanks& ranks, PlacementTrial* trial, RunProgress& progress,
             RunSaver& saver)
      : context_(context), ranks_(ranks), trial_(trial), progress_(progress), saver_(saver) {}

  // Collective: the next step of the phase in progress. None if a stop ended it; what counts is saved then.
  // Throws SharedError if the policy is no longer sound; what can be saved is saved before.
  std::optional<StepAgreement> take(Phase& phase);

 private:
  // Collective: what a step has come to over all ranks.
  StepMetrics close(Phase& phase, const PhaseStep& taken, StepAgreement& agreement);
  // MFU of an update over all ranks; none on the CPU, or on a device whose peak is not known.
  std::optional<double> utilisation(const UpdateStatistics& update, double train_seconds) const;
  void log(const StepMetrics& metrics, const PhaseStep& taken);
  // Of the run after this step: what is left of the phase, later stages by the responses that they ask for,
  // and evaluations by those that there were. None in a warm-up, which says nothing of the stages.
  std::optional<double> seconds_left(const StepMetrics& metrics, double seconds_in_phase) const;
  // Keeps what an update that was skipped was made of; too many of them end the run.
  void note_skipped(Phase& phase, const StepMetrics& metrics);

  const RunContext& context_;
  const RunRanks& ranks_;
  PlacementTrial* const trial_;
  RunProgress& progress_;
  RunSaver& saver_;
  IdleSteps idle_steps_;
};

}  // namespace bicrl
