// A training run: warm-up, then the stages in order, with an evaluation and a checkpoint after each phase. It
// goes on where the last checkpoint of its run directory was made.
//
// How this folder works: run_settings.h is the configuration of a run, phase.h a part of it that takes steps
// (warm_up_phase.cpp, stage_phase.cpp; replay_settings.h leaves out what another run did already).
// run_directory.h owns the folder: checkpoints (checkpoint_store.h, checkpoint_writer.h, run_state.h) and
// logs (run_log.h, event_file.h) of what step_metrics.h says of a step. program_pair.h shows what became of a
// program. update_check.h decides when a run must end.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "policy/tokenizer.h"
#include "policy/transformer.h"
#include "reward/client/verifier_client.h"
#include "reward/reward_rule.h"
#include "rollout/decode_engine.h"
#include "trainer/evaluation/evaluation.h"
#include "trainer/experience/verdict_ledger.h"
#include "trainer/inputs/run_inputs.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/ranks/measured_tensors.h"
#include "trainer/ranks/placement.h"
#include "trainer/run/checkpoint_store.h"
#include "trainer/run/checkpoint_writer.h"
#include "trainer/run/idle_steps.h"
#include "trainer/run/phase.h"
#include "trainer/run/run_directory.h"
#include "trainer/run/run_log.h"
#include "trainer/run/run_settings.h"
#include "trainer/run/run_state.h"
#include "trainer/update/policy_updater.h"
#include "trainer/update/weight_sync.h"

namespace bicrl {

enum class RunEnd { kFinished, kStopped };

// How the ranks of a run talk, and which of them does what. In a split run the trainers' planes are among
// those alone, and null on the others; in a colocated one they are the same as those of all ranks.
struct RunRanks {
  Placement placement;
  ControlPlane& control;
  MeasuredTensors& tensors;
  ControlPlane* trainer_control = nullptr;
  MeasuredTensors* trainer_tensors = nullptr;

  // What this rank's planes moved since the last call.
  CollectiveAccount take_account() const;
};

// One object per rank; run() is collective. Refers to what it is given and owns inputs, policy and optimizer.
class TrainingRun {
 public:
  // `directory` is null on ranks other than 0. `verifier` may be null if nothing is to be verified;
  // `verifier_basis` is its common_grading_basis().
  // `checkpoint` is where to go on; empty at the start.
  TrainingRun(const RunSettings& settings, RunInputs inputs, const RunRanks& ranks, VerifierClient* verifier,
              const std::string& verifier_basis, const RewardFunction& reward, RunDirectory* directory,
              const std::filesystem::path& checkpoint, std::function<bool()> stop_requested);

  // Throws Error if a phase cannot go on (too many masked responses, a policy that is no longer finite);
  // what can be saved is saved before.
  RunEnd run();
  // That the run took before this object went on with it.
  double seconds_before() const { return seconds_before_run_; }

 private:
  void make_updater(const RunRanks& ranks);
  void take_moments();  // of the checkpoint that the policy comes from
  void share_first_weights(TensorPlane& tensors);
  void bring_weights();  // see PhaseContext
  PhaseContext context();
  std::vector<std::unique_ptr<Phase>> make_phases();
  std::map<std::string, std::string> hashes_of_inputs() const;  // of what is read besides the configuration
  const Transformer& reference();                               // see PhaseContext
  // False if the run was asked to stop; all of it that counts is saved then.
  bool run_phase(Phase& phase);
  RunEnd run_phases();
  bool take_step(Phase& phase);
  // Collective: what a step has come to, and whether ranks want to stop or to save.
  StepMetrics close_step(const Phase& phase, const PhaseStep& taken);
  // MFU of an update over all ranks; none on the CPU, or on a device whose peak is not known.
  std::optional<double> utilisation(const UpdateStatistics& update, double train_seconds) const;
  void log_step(const StepMetrics& metrics, const PhaseStep& taken);
  // Of the run after this step: what is left of the phase, later stages by the responses that they ask for,
  // and evaluations by those that there were. None in a warm-up, which says nothing of the stages.
  std::optional<double> seconds_left(const StepMetrics& metrics, double seconds_in_phase) const;
  // Keeps what an update that was skipped was made of; too many of them end the run.
  void note_skipped(const Phase& phase, const StepMetrics& metrics);
  bool finish_phase(Phase& phase);
  bool stopping();           // collective: the same answer on all ranks
  int64_t run_step() const;  // steps done over all phases

  // ---- training_run_evaluation.cpp ----
  bool evaluates() const;
  bool rewards() const;  // whether there is a stage
  // Where no warm-up gives the first row: what the stages are compared with.
  bool evaluate_start();
  // Where `evaluation.every_steps` asks for it and the run has not done so. False if a stop ended it.
  bool evaluate_within(const Phase& phase);
  // Of a phase that had ended, before it goes on: what its end was is a step within it from now on.
  bool evaluate_extended(Phase& phase);
  bool evaluate_apart(const std::string& name);  // outside phases; its seconds stand beside theirs
  bool evaluate_as(const std::string& name);     // of a phase, or kStartEvaluation; false if a stop ended it
  void open_evaluations();                       // collective: the folder of what evaluations keep
  // Collective: scores held-out tasks and keeps the responses as RUN/evaluations/FILE.jsonl.
  TaskScores score_and_keep(const std::string& file, const std::vector<Task>& tasks,
                            ScoringSettings settings);
  bool measures_best_of(const std::string& name) const;
  std::optional<BestOf> evaluate_best_of(const std::string& name);  // none if a stop ended it
  // Whether the evaluation is the last one before an infilling stage, or within or after one.
  bool measures_infilling(const std::string& name) const;
  bool can_infill(const Task& task) const;
  std::optional<HeldOutFigures> evaluate_infilling(const std::string& name);  // none if a stop ended it
  // Throws if too many held-out responses have no verdict.
  void require_verdicts(const std::string& name, const TaskScores& scores) const;
  std::string last_phase() const;  // that takes a step; empty if none does
  void print_end() const;  // the table, what has become of one program, and which checkpoint is the best
  void print_program_pair() const;
  std::string best_and_newest() const;
  bool newest_is_best() const;  // of the evaluations so far
  void leave_out_faults(const TaskScores& scores);
  void leave_out_held_out();  // those that are known to be at fault

  // ---- training_run_saving.cpp ----
  void resume(const std::filesystem::path& checkpoint);
  // Collective: what is now will be the latest checkpoint once finish_checkpoint() has returned. Waits for
  // the one before.
  void save_checkpoint(const std::string& name);
  // Collective: waits for the checkpoint that is being written, if one is, and removes those that it
  // replaces.
  void finish_checkpoint();
  bool best_is_newest() const;                       // where nothing says which is better
  void finish_checkpoint_after(const Error& error);  // as far as ranks can
  CheckpointPart checkpoint_part() const;            // this rank's
  void save_within_phase(const Phase& phase);
  void mark_best(const Phase& phase);  // the latest checkpoint; waits for it
  std::string name_within(const Phase& phase) const;
  uint64_t checkpoint_bytes() const;  // roughly, over all ranks
  void remove_checkpoints_within(Phase& phase, int64_t keep);
  void write_summary() const;

  const RunSettings& settings_;
  const RunRanks ranks_;
  Placement placement_;
  ControlPlane& control_;
  VerifierClient* verifier_;
  const RewardFunction& reward_;
  RunDirectory* directory_;
  std::function<bool()> stop_requested_;
  Tokenizer tokenizer_;
  Transformer policy_;
  DecodeEngine engine_;  // of this rank; a rank that trains gives its memory back after each use
  std::optional<Transformer> reference_;
  TaskPool tasks_;
  std::unique_ptr<PolicyUpdater> updater_;  // null on ranks that do not train
  std::unique_ptr<WeightSync> weights_;     // of what is trained; null in a colocated run
  int64_t weights_version_ = -1;            // that ranks which do not train have
  Curation curation_;
  std::unique_ptr<VerdictLedger> ledger_;
  std::vector<std::unique_ptr<Phase>> phases_;
  RunState state_;
  std::string base_checksum_;  // rank 0's, if the policy has adapters: of what stays frozen
  bool state_saved_ = false;   // the latest checkpoint holds state_, or the one that is being written
  // What ranks agreed on at the end of the latest step. Each has its own signals and clock, and ranks that
  // followed those would wait for one another.
  bool stop_agreed_ = false;
  bool checkpoint_agreed_ = false;
  bool written_agreed_ = false;  // every rank's part of the checkpoint under way
  IdleSteps idle_steps_;
  CheckpointSeconds saving_;       // since the latest step was told
  Stopwatch in_phase_;             // since it began, or since the run went on within it
  double seconds_before_ = 0;      // in this phase, before the run went on
  double seconds_before_run_ = 0;  // in all
  bool extends_ = false;           // goes on within a phase that had ended with fewer steps
  Stopwatch since_checkpoint_;
  // Rank 0 only:
  std::unique_ptr<RunLog> run_log_;
  std::unique_ptr<CheckpointStore> checkpoints_;
  // On every rank. Last, as its thread is waited for before what it refers to goes.
  std::unique_ptr<CheckpointWriter> writer_;
};

}  // namespace bicrl
