// A training run: warm-up, then the stages in order, with an evaluation and a checkpoint after each phase. It
// goes on where the last checkpoint of its run directory was made.
//
// How this folder works: run_settings.h is the configuration of a run, phase.h a part of it that takes steps
// (warm_up_phase.cpp, stage_phase.cpp; replay_settings.h leaves out what another run did already).
// run_directory.h owns the folder: checkpoints (checkpoint_store.h, run_state.h) and logs (run_log.h,
// event_file.h) of what step_metrics.h says of a step. update_check.h decides when a run must end.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "policy/tokenizer.h"
#include "policy/transformer.h"
#include "reward/client/verifier_client.h"
#include "reward/reward_rule.h"
#include "trainer/evaluation/evaluation.h"
#include "trainer/experience/verdict_ledger.h"
#include "trainer/inputs/run_inputs.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/ranks/tensor_plane.h"
#include "trainer/run/checkpoint_store.h"
#include "trainer/run/phase.h"
#include "trainer/run/run_directory.h"
#include "trainer/run/run_log.h"
#include "trainer/run/run_settings.h"
#include "trainer/run/run_state.h"
#include "trainer/update/policy_updater.h"

namespace bicrl {

enum class RunEnd { kFinished, kStopped };

// One object per rank; run() is collective. Refers to what it is given and owns inputs, policy and optimizer.
class TrainingRun {
 public:
  // `directory` is null on ranks other than 0. `verifier` may be null if nothing is to be verified.
  // `checkpoint` is where to go on; empty at the start.
  TrainingRun(const RunSettings& settings, RunInputs inputs, ControlPlane& control, TensorPlane& tensors,
              VerifierClient* verifier, const RewardFunction& reward, RunDirectory* directory,
              const std::filesystem::path& checkpoint, std::function<bool()> stop_requested);

  // Throws Error if a phase cannot go on (too many masked responses, a policy that is no longer finite);
  // what can be saved is saved before.
  RunEnd run();

 private:
  PhaseContext context();
  std::vector<std::unique_ptr<Phase>> make_phases();
  std::map<std::string, std::string> hashes_of_inputs() const;  // of what is read besides the configuration
  const Transformer& reference();                               // see PhaseContext
  // False if the run was asked to stop; all of it that counts is saved then.
  bool run_phase(Phase& phase);
  bool take_step(Phase& phase);
  // Collective: what a step has come to, and whether ranks want to stop or to save.
  StepMetrics close_step(const Phase& phase, const PhaseStep& taken);
  void log_step(const StepMetrics& metrics, const PhaseStep& taken);
  // Keeps what an update that was skipped was made of; too many of them end the run.
  void note_skipped(const Phase& phase, const StepMetrics& metrics);
  bool finish_phase(const Phase& phase);
  bool evaluates() const;
  // Where no warm-up gives the first row: what the stages are compared with.
  bool evaluate_start();
  // Where `evaluation.every_steps` asks for it and the run has not done so. False if a stop ended it.
  bool evaluate_within(const Phase& phase);
  bool evaluate_apart(const std::string& name);  // outside phases; its seconds stand beside theirs
  bool evaluate_as(const std::string& name);     // of a phase, or kStartEvaluation; false if a stop ended it
  bool newest_is_best() const;                   // of the evaluations so far
  void leave_out_faults(const TaskScores& scores);
  void leave_out_held_out();  // those that are known to be at fault
  bool stopping();            // collective: the same answer on all ranks
  int64_t run_step() const;   // steps done over all phases

  // ---- training_run_saving.cpp ----
  void resume(const std::filesystem::path& checkpoint);
  // Collective. Rank 0 writes all but the other ranks' shards of the optimizer's state.
  void save_checkpoint(const std::string& name);
  // Collective: every rank's part of the optimizer's state; the files of all ranks.
  std::map<std::string, FileHash> write_shards(const std::filesystem::path& folder);
  void save_within_phase(const Phase& phase);
  void mark_best(const Phase& phase);  // the latest checkpoint
  std::string name_within(const Phase& phase) const;
  uint64_t checkpoint_bytes() const;  // roughly, over all ranks
  void remove_checkpoints_within(const Phase& phase, int64_t keep);
  void write_summary() const;

  const RunSettings& settings_;
  ControlPlane& control_;
  VerifierClient* verifier_;
  const RewardFunction& reward_;
  RunDirectory* directory_;
  std::function<bool()> stop_requested_;
  Tokenizer tokenizer_;
  Transformer policy_;
  std::optional<Transformer> reference_;
  TaskPool tasks_;
  PolicyUpdater updater_;
  Curation curation_;
  std::unique_ptr<VerdictLedger> ledger_;
  std::vector<std::unique_ptr<Phase>> phases_;
  RunState state_;
  bool state_saved_ = false;  // the latest checkpoint holds state_
  // What ranks agreed on at the end of the latest step. Each has its own signals and clock, and ranks that
  // followed those would wait for one another.
  bool stop_agreed_ = false;
  bool checkpoint_agreed_ = false;
  Stopwatch in_phase_;         // since it began, or since the run went on within it
  double seconds_before_ = 0;  // in this phase, before the run went on
  Stopwatch since_checkpoint_;
  // Rank 0 only:
  std::unique_ptr<RunLog> run_log_;
  std::unique_ptr<CheckpointStore> checkpoints_;
};

}  // namespace bicrl
