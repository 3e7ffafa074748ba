#include "trainer/run/training_run.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "common/hash.h"
#include "common/log.h"
#include "common/rng.h"
#include "policy/distribution.h"
#include "trainer/experience/grading_basis.h"
#include "trainer/inputs/prompt_filter.h"
#include "trainer/run/update_check.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kWarmUpPhase = "warm_up";

// The policy of a checkpoint of this run, or the one that the run starts from.
Transformer first_policy(const RunSettings& settings, const Tokenizer& tokenizer, const fs::path& checkpoint,
                         const ControlPlane& control) {
  PolicySource source = settings.policy;
  if (!checkpoint.empty()) {
    source.checkpoint = checkpoint;
    source.config_file.clear();
  }
  return make_policy(source, tokenizer, weights_key(settings.seed), control.local_rank(),
                     control.ranks_on_host());
}

// Verdicts of other tolerances, trials or times, or of another verifier, do not stand for each other.
LedgerScope ledger_scope(const RunSettings& settings, VerifierClient* verifier, const RewardFunction& reward,
                         ControlPlane& control) {
  const VerifierClientOptions& options = settings.verifier;
  const std::string clock = options.protocol.measure_time ? reward.clock() : "";
  return {.protocol = to_string(options.protocol),
          .verifier = verifier ? common_grading_basis(*verifier, options, control, clock) : ""};
}

}  // namespace

TrainingRun::TrainingRun(const RunSettings& settings, RunInputs inputs, ControlPlane& control,
                         TensorPlane& tensors, VerifierClient* verifier, const RewardFunction& reward,
                         RunDirectory* directory, const fs::path& checkpoint,
                         std::function<bool()> stop_requested)
    : settings_(settings),
      control_(control),
      verifier_(verifier),
      reward_(reward),
      directory_(directory),
      stop_requested_(std::move(stop_requested)),
      tokenizer_(std::move(inputs.tokenizer)),
      policy_(first_policy(settings, tokenizer_, checkpoint, control)),
      tasks_(std::move(inputs.tasks)),
      updater_(policy_, allowed_ids(policy_.config(), tokenizer_.size(), policy_.device()),
               settings.warm_up.updater, control, tensors, settings.trainer.sharding,
               settings.trainer.recompute),
      curation_(settings.curation) {
  expect_equal_on_ranks(control, "shape of the policy", policy_.config().to_json_text());
  const auto hashes = hashes_of_inputs();
  for (const auto& [name, hash] : hashes) expect_equal_on_ranks(control, name, hash);
  on_rank_zero(control, [&] {
    if (directory_) directory_->adopt_inputs(hashes);
  });
  updater_.broadcast_parameters();
  if (settings.evaluation.tasks == 0) tasks_.held_out.clear();
  if (evaluates()) {
    const std::string left_out =
        keep_fitting(tasks_.held_out, "held-out tasks",
                     {Stage::kEndToEnd, settings.tasks.prompt_style, settings.evaluation.decoding},
                     tokenizer_, policy_.config());
    if (!left_out.empty() && control.rank() == 0) log_warning(left_out);
  }
  const auto wanted = static_cast<size_t>(settings.evaluation.tasks);
  if (tasks_.held_out.size() > wanted) tasks_.held_out.resize(wanted);
  const ReplaySettings& replay = settings.replay;
  if (verifier_ || replay.parts == RunParts::kUpdates)
    ledger_ = std::make_unique<VerdictLedger>(settings.directory / "ledger",
                                              ledger_scope(settings, verifier_, reward_, control), control);
  if (replay.parts == RunParts::kUpdates) ledger_->adopt(read_ledger(replay.verdicts / "ledger"));
  phases_ = make_phases();
  if (!checkpoint.empty())
    resume(checkpoint);
  else if (settings.policy.moments)
    adopt_moments(settings.policy.checkpoint, updater_);
  if (ledger_) ledger_->resume_at(state_.ledger_round);
  if (ledger_ && ledger_->foreign() > 0 && control.rank() == 0)
    log_warning(ledger_->foreign(), " verdicts of this run were given by a verifier of another kind or with ",
                "other settings: they do not count for what is verified from now on");
  if (!directory_) return;
  run_log_ = std::make_unique<RunLog>(*directory_, state_.log_bytes, settings.samples_per_step);
  checkpoints_ = std::make_unique<CheckpointStore>(directory_->path() / "checkpoints");
  log_info("policy: ", policy_.config().parameter_count(), " parameters; tasks: ", tasks_.train.size(),
           " for training, ", tasks_.held_out.size(), " held out; ranks: ", control.size());
}

std::map<std::string, std::string> TrainingRun::hashes_of_inputs() const {
  std::map<std::string, std::string> hashes = {{"training tasks", hash_of(tasks_.train)},
                                               {"held-out tasks", hash_of(tasks_.held_out)},
                                               {"tokenizer", tokenizer_.hash()}};
  const fs::path& config = settings_.policy.config_file;
  if (!config.empty()) hashes["policy.config"] = hash_hex(PolicyConfig::from_file(config).to_json_text());
  return hashes;
}

PhaseContext TrainingRun::context() {
  return {.settings = settings_,
          .control = control_,
          .tokenizer = tokenizer_,
          .policy = policy_,
          .tasks = tasks_,
          .updater = updater_,
          .curation = curation_,
          .verifier = verifier_,
          .reward = reward_,
          .ledger = ledger_.get(),
          .reference = [this]() -> const Transformer& { return reference(); },
          .stop_requested = stop_requested_};
}

std::vector<std::unique_ptr<Phase>> TrainingRun::make_phases() {
  const PhaseContext context = this->context();
  std::vector<std::unique_ptr<Phase>> phases;
  // A replay of verdicts needs no policy that has learnt anything.
  if (settings_.replay.generates() || settings_.replay.updates())
    phases.push_back(make_warm_up_phase(context, std::string(kWarmUpPhase)));
  std::map<std::string, int> uses;
  for (size_t i = 0; i < settings_.stages.size(); ++i) {
    const std::string stage = to_string(settings_.stages[i].stage);
    const int use = ++uses[stage];
    phases.push_back(make_stage_phase(context, use == 1 ? stage : concat(stage, "_", use), i));
  }
  return phases;
}

const Transformer& TrainingRun::reference() {
  if (reference_) return *reference_;
  int64_t first_stage = 0;
  while (first_stage < static_cast<int64_t>(phases_.size()) &&
         (phases_[static_cast<size_t>(first_stage)]->name() == kWarmUpPhase ||
          phases_[static_cast<size_t>(first_stage)]->steps() == 0))
    ++first_stage;
  if (state_.phase <= first_stage && state_.step == 0) {
    reference_ = policy_.clone();
    return *reference_;
  }
  // The run goes on within reinforcement; what it began with lies in a checkpoint, or can be made again.
  const fs::path warm_up = settings_.directory / "checkpoints" / kWarmUpPhase;
  if (settings_.warm_up.steps > 0 && !fs::is_directory(warm_up))
    throw InputError(concat(warm_up.string(), " is missing, and kl_reference=initial needs it"));
  reference_ =
      first_policy(settings_, tokenizer_, settings_.warm_up.steps > 0 ? warm_up : fs::path(), control_);
  return *reference_;
}

RunEnd TrainingRun::run() {
  if (!evaluate_start()) return RunEnd::kStopped;
  bool begun = state_.step > 0;
  for (; state_.phase < static_cast<int64_t>(phases_.size());
       ++state_.phase, state_.step = 0, begun = false) {
    Phase& phase = *phases_[static_cast<size_t>(state_.phase)];
    if (phase.steps() == 0) continue;
    in_phase_.restart();
    if (!begun) {
      seconds_before_ = 0;
      if (stopping()) return RunEnd::kStopped;
      phase.begin();
      state_.phase_state = phase.state();
    }
    if (state_.step < phase.steps() && !run_phase(phase)) return RunEnd::kStopped;
    if (!finish_phase(phase)) return RunEnd::kStopped;
  }
  if (directory_ && !state_.evaluations.empty())
    std::cout << "\n" << evaluation_table(state_.evaluations) << std::flush;
  return RunEnd::kFinished;
}

bool TrainingRun::run_phase(Phase& phase) {
  stop_agreed_ = stopping();
  while (state_.step < phase.steps()) {
    if (stop_agreed_) {
      if (!state_saved_) save_within_phase(phase);
      return false;
    }
    if (!evaluate_within(phase)) return false;
    if (!take_step(phase)) return false;
    // After the last step finish_phase() saves.
    if (state_.step < phase.steps() && checkpoint_agreed_) save_within_phase(phase);
  }
  return true;
}

bool TrainingRun::take_step(Phase& phase) {
  const Stopwatch watch;
  const nlohmann::json before = phase.state();
  PhaseStep taken;
  try {
    taken = phase.step(state_.step + 1, state_.policy_version);
  } catch (const StepAborted& error) {
    state_.phase_state = before;
    if (!state_saved_) save_within_phase(phase);
    if (dynamic_cast<const StepInterrupted*>(&error)) return false;
    throw;
  }
  taken.seconds.step = watch.seconds();
  const StepMetrics metrics = close_step(phase, taken);
  if (const std::string problem = update_problem(metrics.update, settings_.max_loss); !problem.empty())
    throw SharedError(concat(phase.name(), " step ", metrics.step, ": ", problem, " ", phase.keep_batch()));
  ++state_.step;
  state_.policy_version += metrics.update.updates - metrics.update.skipped_updates;
  state_.phase_state = phase.state();
  state_saved_ = false;
  log_step(metrics, taken);
  note_skipped(phase, metrics);
  return true;
}

void TrainingRun::log_step(const StepMetrics& metrics, const PhaseStep& taken) {
  if (!run_log_) return;
  run_log_->responses(metrics, run_step(), taken.entries);
  run_log_->step(metrics, run_step(), seconds_before_ + in_phase_.seconds());
}

void TrainingRun::note_skipped(const Phase& phase, const StepMetrics& metrics) {
  const int64_t skipped = metrics.update.skipped_updates;
  if (skipped == 0) return;
  state_.skipped_updates += skipped;
  const std::string what =
      concat(phase.name(), " step ", metrics.step, ": ", skipped, " of ", metrics.update.updates,
             " updates skipped, because the gradient is not finite. ", phase.keep_batch());
  if (directory_) log_warning(what);
  if (state_.skipped_updates <= settings_.max_skipped_updates) return;
  save_within_phase(phase);
  throw SharedError(concat(what, "\n", state_.skipped_updates,
                           " updates of this run were skipped (run.max_skipped_updates is ",
                           settings_.max_skipped_updates,
                           "); the policy is saved as it was before, and the same command goes on until the "
                           "next one."));
}

StepMetrics TrainingRun::close_step(const Phase& phase, const PhaseStep& taken) {
  struct Close {  // trivially copyable: ranks exchange the bytes
    UpdateTotals update;
    StepSeconds seconds;
    bool stop;
    bool checkpoint_due;
  };
  const Close mine = {.update = taken.update,
                      .seconds = taken.seconds,
                      .stop = stop_requested_(),
                      .checkpoint_due = settings_.checkpoint_every_s > 0 &&
                                        since_checkpoint_.seconds() >= settings_.checkpoint_every_s};
  std::vector<UpdateTotals> updates;
  StepSeconds slowest;
  stop_agreed_ = checkpoint_agreed_ = false;
  for (const Close& rank : all_gather_values(control_, mine)) {
    updates.push_back(rank.update);
    slowest.rollout = std::max(slowest.rollout, rank.seconds.rollout);
    slowest.verify_wait = std::max(slowest.verify_wait, rank.seconds.verify_wait);
    slowest.train = std::max(slowest.train, rank.seconds.train);
    slowest.step = std::max(slowest.step, rank.seconds.step);
    stop_agreed_ |= rank.stop;
    checkpoint_agreed_ |= rank.checkpoint_due;
  }
  return {.phase = phase.name(),
          .step = state_.step + 1,
          .steps = phase.steps(),
          .responses = taken.responses,
          .meaning = taken.meaning,
          .update = over_ranks(updates),
          .seconds = slowest};
}

bool TrainingRun::finish_phase(const Phase& phase) {
  state_.seconds_in_phase = seconds_before_ + in_phase_.seconds();
  if (!state_saved_) save_checkpoint(phase.name());
  state_.phase_seconds.emplace_back(phase.name(), state_.seconds_in_phase);
  if (evaluates()) {
    if (!evaluate_apart(phase.name())) return false;
    if (newest_is_best()) mark_best(phase);
  }
  // Only now: a policy that cannot be evaluated may have been broken within this phase.
  remove_checkpoints_within(phase, /*keep=*/0);
  if (directory_) write_summary();
  return true;
}

bool TrainingRun::evaluates() const {
  return verifier_ && settings_.replay.updates() && !tasks_.held_out.empty();
}

bool TrainingRun::evaluate_start() {
  const bool before_all = state_.phase == 0 && state_.step == 0 && state_.evaluations.empty();
  if (!before_all || settings_.warm_up.steps > 0 || settings_.stages.empty() || !evaluates()) return true;
  return evaluate_apart(std::string(kStartEvaluation));
}

bool TrainingRun::evaluate_apart(const std::string& name) {
  if (!evaluate_as(name)) return false;
  state_.phase_seconds.emplace_back(name + "_evaluation", state_.evaluations.back().seconds);
  return true;
}

bool TrainingRun::evaluate_within(const Phase& phase) {
  const int64_t every = settings_.evaluation.every_steps;
  if (every == 0 || state_.step == 0 || state_.step % every != 0 || !evaluates()) return true;
  const std::string name = name_within(phase);
  for (const EvaluationResult& known : state_.evaluations)
    if (known.phase == name) return true;
  // Before it: an evaluation that cannot be had loses nothing, and if it is the best, it is this
  // checkpoint's.
  if (!state_saved_) save_within_phase(phase);
  if (!evaluate_as(name)) return false;
  state_saved_ = false;
  if (newest_is_best()) mark_best(phase);
  return true;
}

bool TrainingRun::newest_is_best() const {
  const auto& all = state_.evaluations;
  return std::all_of(all.begin(), all.end() - 1, [&](const EvaluationResult& earlier) {
    return earlier.correct_rate < all.back().correct_rate;
  });
}

bool TrainingRun::evaluate_as(const std::string& name) {
  if (stopping()) return false;
  const Stopwatch watch;
  const TaskScores scores =
      score_tasks(policy_, tokenizer_, *verifier_, ledger_.get(), control_, tasks_.held_out,
                  {.stage = Stage::kEndToEnd,
                   .prompt_style = settings_.tasks.prompt_style,
                   .decoding = settings_.evaluation.decoding,
                   .stop_requested = stop_requested_});
  if (scores.interrupted) return false;
  leave_out_faults(scores);
  const EvaluationResult result = evaluation_result(name, scores, watch.seconds());
  const std::string problem = unverified_problem(scores.unverified, settings_.max_unverified_share);
  if (!problem.empty())
    throw SharedError(concat("evaluation ", moment_of(name), ": ", problem, " (run.max_unverified_share is ",
                             settings_.max_unverified_share, "): ", result.unverified_reason,
                             "\nWhat was learnt is saved; the same command evaluates it again."));
  state_.evaluations.push_back(result);
  if (directory_)
    log_info(moment_of(name), " (", clock_text(state_.seconds_in_phase),
             "): ", std::lround(1000 * result.correct_rate) / 10.0, " % of ", result.tasks,
             " held-out tasks correct, ", std::lround(1000 * result.compile_rate) / 10.0,
             " % compile (evaluation ", clock_text(result.seconds), ")");
  return true;
}

void TrainingRun::leave_out_faults(const TaskScores& scores) {
  for (size_t i = 0; i < scores.tasks.size(); ++i) {
    const std::string& reason = scores.tasks[i].task_fault;
    if (reason.empty()) continue;
    const std::string left_out = curation_.note_fault(tasks_.held_out[i].id, reason);
    if (directory_ && !left_out.empty()) log_warning("held-out ", left_out);
  }
  leave_out_held_out();
}

void TrainingRun::leave_out_held_out() {
  std::erase_if(tasks_.held_out, [&](const Task& task) { return curation_.at_fault(task.id); });
}

bool TrainingRun::stopping() { return on_any_rank(control_, stop_requested_()); }

int64_t TrainingRun::run_step() const {
  int64_t steps = state_.step;
  for (int64_t i = 0; i < state_.phase; ++i) steps += phases_[static_cast<size_t>(i)]->steps();
  return steps;
}

}  // namespace bicrl
