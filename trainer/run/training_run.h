// A training run: warm-up, then the stages in order, with an evaluation and a checkpoint after each phase. It
// goes on where the last checkpoint of its run directory was made.
//
// How this folder works: run_settings.h is the configuration of a run, phases/phase.h a part of it that takes
// steps (warm_up_phase.cpp, stage_phase.cpp; replay_settings.h leaves out what another run did already).
// run_stepper.h takes a step, run_evaluator.h tries the policy on held-out tasks, run_saver.h makes
// checkpoints; run_progress.h is what they share; run_policies.h loads policies. run_directory.h owns the
// folder: checkpoints (checkpoint_store.h, checkpoint_writer.h, run_state.h) and logs (run_log.h,
// event_file.h) of what step_metrics.h says of a step. program_pair.h shows what became of a program.
// update_check.h decides when a run must end.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/tokenizer/tokenizer.h"
#include "policy/transformer.h"
#include "reward/client/verifier_client.h"
#include "reward/stage_rewards.h"
#include "rollout/decoding/decode_engine.h"
#include "trainer/experience/verdict_ledger.h"
#include "trainer/run/phases/phase.h"
#include "trainer/run/reports/run_log.h"
#include "trainer/run/run_directory.h"
#include "trainer/run/run_evaluator.h"
#include "trainer/run/run_inputs.h"
#include "trainer/run/run_policies.h"
#include "trainer/run/run_progress.h"
#include "trainer/run/run_ranks.h"
#include "trainer/run/run_saver.h"
#include "trainer/run/run_settings.h"
#include "trainer/run/run_stepper.h"
#include "trainer/update/policy_updater.h"
#include "trainer/update/weight_sync.h"

namespace bicrl {

enum class RunEnd {
  kFinished,
  kStopped,
  kMoves,  // saved, to go on in the placement that its first steps have decided on
};

// One object per rank; run() is collective. Refers to what it is given and owns inputs, policy and optimizer.
class TrainingRun {
 public:
  // `directory` is null on ranks other than 0. `verifier` may be null if nothing is to be verified;
  // `verifier_basis` is its common_grading_basis().
  // `checkpoint` is where to go on; empty at the start.
  TrainingRun(const RunSettings& settings, RunInputs inputs, const RunRanks& ranks, VerifierClient* verifier,
              const std::string& verifier_basis, const StageRewards& rewards, RunDirectory* directory,
              const std::filesystem::path& checkpoint, std::function<bool()> stop_requested,
              std::optional<PlacementTrial> trial = {});

  // Throws Error if a phase cannot go on (too many masked responses, a policy that is no longer finite);
  // what can be saved is saved before.
  RunEnd run();
  // That the run took before this object went on with it.
  double seconds_before() const { return seconds_before_run_; }
  // Where the run generates from now on, once that is decided.
  const std::optional<PlacementDecision>& placement() const { return progress_.state.placement; }

 private:
  void make_updater(const RunRanks& ranks);
  void take_moments();  // of the checkpoint that the policy comes from
  void share_first_weights(TensorPlane& tensors);
  void make_ledger(const std::string& verifier_basis);
  void bring_weights();  // see RunContext
  RunContext make_context();
  std::vector<std::unique_ptr<Phase>> make_phases();
  void resume(const std::filesystem::path& checkpoint);
  void reward_as(const Phase& phase);  // what curation keeps is by its reward from now on
  void make_parts(bool is_resumed);    // that step, evaluate and save
  void print_start() const;
  std::map<std::string, std::string> hashes_of_inputs() const;  // of what is read besides the configuration
  RunEnd run_phases();
  // How the run ends within the phase; all of it that counts is saved then. None: the phase's steps are done.
  std::optional<RunEnd> run_phase(Phase& phase);
  // Collective, once the trial is complete: whether the run moves.
  bool decides_to_move(const Phase& phase);
  // False if the run was asked to stop; all of it that counts is saved then.
  bool finish_phase(Phase& phase);
  bool stopping();  // collective: the same answer on all ranks
  // Where no warm-up gives the first row: what the stages are compared with.
  bool evaluate_start();
  // Where `evaluation.every_steps` or `every_epochs` asks for it and the run has not done so. False if a stop
  // ended it.
  bool evaluate_within_phase();
  // Of a phase that had ended, before it goes on: what its end was is a step within it from now on.
  bool evaluate_extended(const Phase& phase);
  bool evaluate_step();  // the one that is done, and marks it if it is the best

  const RunSettings& settings_;
  const RunRanks ranks_;
  Placement placement_;
  ControlPlane& control_;
  VerifierClient* verifier_;
  const StageRewards& rewards_;
  RunDirectory* directory_;
  std::function<bool()> stop_requested_;
  Tokenizer tokenizer_;
  Transformer policy_;
  DecodeEngine engine_;  // of this rank; a rank that trains gives its memory back after each use
  TaskPool tasks_;
  std::vector<PairSet> pairs_;
  PairSamples pair_samples_;
  std::unique_ptr<PolicyUpdater> updater_;  // null on ranks that do not train
  std::unique_ptr<WeightSync> weights_;     // of what is trained; null in a colocated run
  int64_t weights_version_ = -1;            // that ranks which do not train have
  Curation curation_;
  std::unique_ptr<VerdictLedger> ledger_;
  RunProgress progress_;
  ReferencePolicy reference_;
  RunContext context_;
  double seconds_before_run_ = 0;        // in all, before the run went on
  bool extends_ = false;                 // goes on within a phase that had ended with fewer steps
  std::optional<PlacementTrial> trial_;  // none once the placement is decided
  std::unique_ptr<RunLog> run_log_;      // null on ranks other than 0
  std::unique_ptr<RunEvaluator> evaluator_;
  std::unique_ptr<RunSaver> saver_;  // behind what it refers to: its thread is waited for first
  std::unique_ptr<RunStepper> stepper_;
};

}  // namespace bicrl
