#include "trainer/run/training_run.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/hash.h"
#include "common/log.h"
#include "common/rng.h"
#include "policy/distribution.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

// Verdicts of other tolerances, trials or times, or of another verifier, do not stand for each other.
LedgerScope ledger_scope(const RunSettings& settings, const std::string& verifier_basis) {
  return {.protocol = to_string(settings.verifier.protocol), .verifier = verifier_basis};
}

}  // namespace

TrainingRun::TrainingRun(const RunSettings& settings, RunInputs inputs, const RunRanks& ranks,
                         VerifierClient* verifier, const std::string& verifier_basis,
                         const StageRewards& rewards, RunDirectory* directory, const fs::path& checkpoint,
                         std::function<bool()> stop_requested, std::optional<PlacementTrial> trial)
    : settings_(settings),
      ranks_(ranks),
      placement_(ranks.placement),
      control_(ranks.control),
      verifier_(verifier),
      rewards_(rewards),
      directory_(directory),
      stop_requested_(std::move(stop_requested)),
      tokenizer_(std::move(inputs.tokenizer)),
      policy_(make_run_policy(settings, tokenizer_, checkpoint, control_)),
      engine_(policy_, tokenizer_),
      tasks_(std::move(inputs.tasks)),
      pairs_(std::move(inputs.pairs)),
      pair_samples_(std::move(inputs.pair_samples)),
      curation_(settings.curation),
      reference_({.settings = settings, .tokenizer = tokenizer_, .policy = policy_, .control = control_},
                 progress_),
      context_(make_context()),
      trial_(std::move(trial)) {
  expect_equal_on_ranks(control_, "shape of the policy", policy_.config().to_json_text());
  const auto hashes = hashes_of_inputs();
  for (const auto& [name, hash] : hashes) expect_equal_on_ranks(control_, name, hash);
  on_rank_zero(control_, [&] {
    if (directory_) directory_->adopt_inputs(hashes);
  });
  context_.changes_allowed = on_any_rank(control_, directory_ && directory_->changes_allowed());
  make_updater(ranks);
  share_first_weights(ranks.tensors);
  make_ledger(verifier_basis);
  progress_.phases = make_phases();
  if (!checkpoint.empty())
    resume(checkpoint);
  else if (settings.policy.moments)
    take_moments();
  if (trial_) progress_.state.placement.reset();  // of another number of ranks
  if (ledger_) ledger_->resume_at(progress_.state.ledger_round);
  if (ledger_ && ledger_->foreign() > 0 && control_.rank() == 0)
    log_warning(ledger_->foreign(), " verdicts of this run were given by a verifier of another kind or with ",
                "other settings: they do not count for what is verified from now on, by ", verifier_basis,
                ". Rewards of the steps before and after may differ");
  make_parts(/*is_resumed=*/!checkpoint.empty());
  if (directory_) print_start();
}

void TrainingRun::make_ledger(const std::string& verifier_basis) {
  const ReplaySettings& replay = settings_.replay;
  if (!verifier_ && replay.parts != RunParts::kUpdates) return;
  ledger_ = std::make_unique<VerdictLedger>(settings_.directory / "ledger",
                                            ledger_scope(settings_, verifier_basis), control_);
  context_.ledger = ledger_.get();
  if (replay.parts == RunParts::kUpdates) ledger_->adopt(read_ledger(replay.verdicts / "ledger"));
}

void TrainingRun::make_parts(bool is_resumed) {
  if (directory_)
    run_log_ = std::make_unique<RunLog>(*directory_, progress_.state.log_bytes, settings_.samples_per_step);
  context_.log = run_log_.get();
  evaluator_ = std::make_unique<RunEvaluator>(context_, progress_);
  saver_ = std::make_unique<RunSaver>(context_, progress_, is_resumed);
  stepper_ = std::make_unique<RunStepper>(context_, ranks_, trial_ ? &*trial_ : nullptr, progress_, *saver_);
}

void TrainingRun::print_start() const {
  const int64_t parameters = policy_.config().parameter_count();
  log_info(
      "policy: ", parameters, " parameters",
      policy_.has_adapters()
          ? concat(", all frozen, and ", policy_.trained().layout().parameter_count(), " of adapters")
          : "",
      "; tasks: ", tasks_.train.size(), " for training, ", tasks_.held_out.size(), " held out",
      settings_.tasks.synthetic ? concat(" (", to_string(settings_.tasks.split), ")") : "",
      "; ranks: ", control_.size(),
      placement_.is_split() ? concat(", of which the last ", placement_.generators(), " only generate") : "");
}

void TrainingRun::make_updater(const RunRanks& ranks) {
  if (!placement_.trains(control_.rank())) return;
  updater_ = std::make_unique<PolicyUpdater>(
      policy_, allowed_ids(policy_.config(), tokenizer_.size(), policy_.device()), settings_.warm_up.updater,
      *ranks.trainer_control, *ranks.trainer_tensors, settings_.trainer.sharding.value_or(Sharding{}),
      settings_.trainer.recompute.value_or(Recompute::kNone));
  context_.updater = updater_.get();
}

void TrainingRun::take_moments() {
  const PolicySource& policy = settings_.policy;
  on_rank_zero(control_, [&] {
    if (policy.verify) check_updater_files(policy.checkpoint);
  });
  on_all_ranks(control_, [&] {
    if (updater_) adopt_moments(policy.checkpoint, *updater_);
  });
}

void TrainingRun::share_first_weights(TensorPlane& tensors) {
  if (updater_) updater_->broadcast_parameters();
  if (!placement_.is_split()) return;
  // Frozen weights do not change any more.
  if (policy_.has_adapters())
    WeightSync(policy_.store(), control_, tensors, placement_.trainers()).synchronise(/*version=*/0);
  weights_ = std::make_unique<WeightSync>(policy_.trained(), control_, tensors, placement_.trainers());
}

void TrainingRun::bring_weights() {
  if (!weights_ || weights_version_ == progress_.state.policy_version) return;
  weights_->synchronise(progress_.state.policy_version);
  weights_version_ = progress_.state.policy_version;
}

std::map<std::string, std::string> TrainingRun::hashes_of_inputs() const {
  std::map<std::string, std::string> hashes = {{"training tasks", hash_of(tasks_.train)},
                                               {"held-out tasks", hash_of(tasks_.held_out)},
                                               {"tokenizer", tokenizer_.hash()}};
  if (!pairs_.empty()) hashes["pairs"] = hash_of(pairs_);
  const fs::path& config = settings_.policy.config_file;
  if (!config.empty()) hashes["policy.config"] = hash_hex(PolicyConfig::from_file(config).to_json_text());
  return hashes;
}

RunContext TrainingRun::make_context() {
  return {.settings = settings_,
          .control = control_,
          .placement = placement_,
          .tokenizer = tokenizer_,
          .policy = policy_,
          .engine = engine_,
          .tasks = tasks_,
          .pairs = pairs_,
          .pair_samples = pair_samples_,
          .curation = curation_,
          .verifier = verifier_,
          .rewards = rewards_,
          .directory = directory_,
          .bring_weights = [this] { bring_weights(); },
          .reference = [this](KlReference kind) -> const Transformer& { return reference_.policy(kind); },
          .stop_requested = stop_requested_};
}

std::vector<std::unique_ptr<Phase>> TrainingRun::make_phases() {
  std::vector<std::unique_ptr<Phase>> phases;
  // A replay of verdicts needs no policy that has learnt anything.
  if (settings_.replay.generates() || settings_.replay.updates())
    phases.push_back(make_warm_up_phase(context_, std::string(kWarmUpPhase)));
  std::map<std::string, int> uses;
  for (size_t i = 0; i < settings_.stages.size(); ++i) {
    const std::string stage = to_string(settings_.stages[i].stage);
    const int use = ++uses[stage];
    phases.push_back(make_stage_phase(context_, use == 1 ? stage : concat(stage, "_", use), i));
  }
  return phases;
}

void TrainingRun::reward_as(const Phase& phase) {
  if (phase.reward()) curation_.reward_by(StageRewards::basis(*phase.reward()));
}

void TrainingRun::resume(const fs::path& checkpoint) {
  RunState& state = progress_.state;
  state = read_run_state(checkpoint);
  if (state.phase < 0 || progress_.has_ended())
    throw InputError(concat(checkpoint.string(), ": the run has no phase number ", state.phase));
  Phase& phase = progress_.phase();
  reward_as(phase);
  // After a phase's last step only its evaluation is left, which asks for no state.
  if (state.step < phase.steps()) {
    phase.begin();
    phase.restore(state.phase_state);
  }
  curation_.restore(state.curation);
  // Ranks that only generate have no optimizer to find a fault in.
  on_all_ranks(control_, [&] {
    if (updater_) restore_updater(checkpoint, *updater_);
  });
  progress_.seconds_before = state.seconds_in_phase;
  seconds_before_run_ = state.seconds_in_phase;
  for (const auto& [name, seconds] : state.phase_seconds) seconds_before_run_ += seconds;
  // Only the checkpoint of a phase's end has its name.
  extends_ = state.step < phase.steps() && checkpoint.filename() == phase.name();
  if (control_.rank() != 0) return;
  log_info("going on after ", phase.name(), " step ", state.step, " of ", phase.steps(), " (",
           checkpoint.string(), ")");
  if (state.ranks != placement_.trainers())
    log_warning("the run had ", state.ranks, " ranks and goes on with ", placement_.trainers(),
                " that train: sums come in another order, so results may differ in the last digits");
}

RunEnd TrainingRun::run() {
  try {
    const RunEnd end = run_phases();
    saver_->finish();
    return end;
  } catch (const Error& error) {
    saver_->finish_after(error);
    throw;
  }
}

RunEnd TrainingRun::run_phases() {
  if (!evaluate_start()) return RunEnd::kStopped;
  RunState& state = progress_.state;
  bool begun = state.step > 0;
  for (; !progress_.has_ended(); ++state.phase, state.step = 0, begun = false) {
    Phase& phase = progress_.phase();
    if (phase.steps() == 0) continue;
    progress_.in_phase.restart();
    if (!begun) {
      progress_.seconds_before = 0;
      if (stopping()) return RunEnd::kStopped;
      reward_as(phase);
      phase.begin();
      state.phase_state = phase.state();
    }
    if (state.step < phase.steps())
      if (const auto end = run_phase(phase)) return *end;
    if (!finish_phase(phase)) return RunEnd::kStopped;
  }
  if (saver_->store()) evaluator_->print_end(*saver_->store());
  return RunEnd::kFinished;
}

std::optional<RunEnd> TrainingRun::run_phase(Phase& phase) {
  if (std::exchange(extends_, false) && !evaluate_extended(phase)) return RunEnd::kStopped;
  const RunState& state = progress_.state;
  StepAgreement agreed{.stop = stopping()};
  while (state.step < phase.steps()) {
    if (agreed.stop) {
      if (!saver_->is_saved()) saver_->save_within_phase();
      return RunEnd::kStopped;
    }
    if (!evaluate_within_phase()) return RunEnd::kStopped;
    const std::optional<StepAgreement> taken = stepper_->take(phase);
    if (!taken) return RunEnd::kStopped;
    agreed = *taken;
    if (agreed.checkpoint_written) saver_->finish();
    if (!agreed.stop && decides_to_move(phase)) return RunEnd::kMoves;
    // After the last step finish_phase() saves.
    if (state.step < phase.steps() && agreed.checkpoint_due) saver_->save_within_phase();
  }
  return std::nullopt;
}

bool TrainingRun::decides_to_move(const Phase& phase) {
  RunState& state = progress_.state;
  if (state.placement || !trial_ || !trial_->is_complete() || state.step == phase.steps()) return false;
  const PlacementTrial::Decision decision = trial_->decide(control_);
  state.placement = PlacementDecision{.ranks = control_.size(), .generators = decision.generators};
  saver_->note_change();
  if (control_.rank() == 0) log_info("trainer.placement: auto is ", decision.reason);
  if (decision.generators == 0) return false;
  saver_->save_within_phase();
  return true;  // run() waits for the checkpoint
}

bool TrainingRun::finish_phase(Phase& phase) {
  RunState& state = progress_.state;
  state.seconds_in_phase = progress_.seconds_in_phase();
  if (!saver_->is_saved()) saver_->save(phase.name());
  state.phase_seconds.emplace_back(phase.name(), state.seconds_in_phase);
  if (evaluator_->evaluates() &&
      (!settings_.evaluation.last_phase_alone || phase.name() == progress_.last_phase())) {
    if (!evaluator_->evaluate_apart(phase.name())) return false;
    if (evaluator_->newest_is_best()) saver_->mark_best();
  }
  saver_->finish();
  // Only now: a policy that cannot be evaluated may have been broken within this phase.
  saver_->remove_within_phase(/*keep=*/0);
  saver_->write_summary();
  return true;
}

bool TrainingRun::stopping() { return on_any_rank(control_, stop_requested_()); }

bool TrainingRun::evaluate_start() {
  const RunState& state = progress_.state;
  const bool before_all = state.phase == 0 && state.step == 0 && state.evaluations.empty();
  if (!before_all || settings_.warm_up.steps > 0 || settings_.stages.empty() || !evaluator_->evaluates())
    return true;
  if (settings_.evaluation.last_phase_alone) return true;
  return evaluator_->evaluate_apart(std::string(kStartEvaluation));
}

bool TrainingRun::evaluate_within_phase() {
  const EvaluationSettings& evaluation = settings_.evaluation;
  const int64_t step = progress_.state.step, epoch_steps = progress_.phase().steps_per_epoch();
  const auto is_due = [&](int64_t every) { return every > 0 && step > 0 && step % every == 0; };
  const bool due = is_due(evaluation.every_steps) || is_due(evaluation.every_epochs * epoch_steps);
  if (!due || !evaluator_->evaluates()) return true;
  if (evaluator_->has_result(saver_->name_within_phase())) return true;
  // Before it: an evaluation that cannot be had loses nothing, and if it is the best, it is this
  // checkpoint's.
  if (!saver_->is_saved()) saver_->save_within_phase();
  return evaluate_step();
}

bool TrainingRun::evaluate_extended(const Phase& phase) {
  const bool was_best = saver_->store() && saver_->store()->best_name() == phase.name();
  saver_->save_within_phase();
  if (was_best) saver_->mark_best();
  return !evaluator_->evaluates() || evaluate_step();
}

bool TrainingRun::evaluate_step() {
  if (!evaluator_->evaluate(saver_->name_within_phase())) return false;
  saver_->note_change();
  if (evaluator_->newest_is_best()) saver_->mark_best();
  return true;
}

}  // namespace bicrl
