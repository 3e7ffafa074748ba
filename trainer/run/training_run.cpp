#include "trainer/run/training_run.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/hash.h"
#include "common/log.h"
#include "common/rng.h"
#include "policy/adapter_io.h"
#include "policy/distribution.h"
#include "trainer/inputs/prompt_filter.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

// The policy of a checkpoint of this run, or the one that the run starts from. Frozen weights are those of
// the start in both cases: a checkpoint's have the adapters merged into them.
Transformer first_policy(const RunSettings& settings, const Tokenizer& tokenizer, const fs::path& checkpoint,
                         const ControlPlane& control) {
  PolicySource source = settings.policy;
  if (!checkpoint.empty()) check_adapters_of(checkpoint, source.lora);
  if (!checkpoint.empty() && !source.lora) {
    source.checkpoint = checkpoint;
    source.config_file.clear();
    source.verify = false;  // CheckpointStore::latest() has checked all of it
  }
  Transformer policy = make_policy(source, tokenizer, weights_key(settings.seed), control.local_rank(),
                                   control.ranks_on_host());
  if (!checkpoint.empty() && source.lora) load_adapters(adapter_folder(checkpoint), policy);
  return policy;
}

// Verdicts of other tolerances, trials or times, or of another verifier, do not stand for each other.
LedgerScope ledger_scope(const RunSettings& settings, const std::string& verifier_basis) {
  return {.protocol = to_string(settings.verifier.protocol), .verifier = verifier_basis};
}

}  // namespace

CollectiveAccount RunRanks::take_account() const {
  CollectiveAccount account = tensors.take();
  if (trainer_tensors && trainer_tensors != &tensors)
    for (const auto& [kind, figures] : trainer_tensors->take()) account[kind] += figures;
  return account;
}

TrainingRun::TrainingRun(const RunSettings& settings, RunInputs inputs, const RunRanks& ranks,
                         VerifierClient* verifier, const std::string& verifier_basis,
                         const RewardFunction& reward, RunDirectory* directory, const fs::path& checkpoint,
                         std::function<bool()> stop_requested)
    : settings_(settings),
      ranks_(ranks),
      placement_(ranks.placement),
      control_(ranks.control),
      verifier_(verifier),
      reward_(reward),
      directory_(directory),
      stop_requested_(std::move(stop_requested)),
      tokenizer_(std::move(inputs.tokenizer)),
      policy_(first_policy(settings, tokenizer_, checkpoint, control_)),
      engine_(policy_, tokenizer_),
      tasks_(std::move(inputs.tasks)),
      curation_(settings.curation, hash_hex(reward.resolved_yaml())) {
  expect_equal_on_ranks(control_, "shape of the policy", policy_.config().to_json_text());
  const auto hashes = hashes_of_inputs();
  for (const auto& [name, hash] : hashes) expect_equal_on_ranks(control_, name, hash);
  on_rank_zero(control_, [&] {
    if (directory_) directory_->adopt_inputs(hashes);
  });
  make_updater(ranks);
  share_first_weights(ranks.tensors);
  if (settings.evaluation.tasks == 0) tasks_.held_out.clear();
  if (evaluates()) {
    open_evaluations();
    const std::string left_out =
        keep_fitting(tasks_.held_out, "held-out tasks",
                     {Stage::kEndToEnd, settings.tasks.prompt_style, settings.evaluation.decoding},
                     tokenizer_, policy_.config());
    if (!left_out.empty() && control_.rank() == 0) log_warning(left_out);
  }
  const auto wanted = static_cast<size_t>(settings.evaluation.tasks);
  if (tasks_.held_out.size() > wanted) tasks_.held_out.resize(wanted);
  const ReplaySettings& replay = settings.replay;
  if (verifier_ || replay.parts == RunParts::kUpdates)
    ledger_ = std::make_unique<VerdictLedger>(settings.directory / "ledger",
                                              ledger_scope(settings, verifier_basis), control_);
  if (replay.parts == RunParts::kUpdates) ledger_->adopt(read_ledger(replay.verdicts / "ledger"));
  phases_ = make_phases();
  if (!checkpoint.empty())
    resume(checkpoint);
  else if (settings.policy.moments)
    take_moments();
  if (ledger_) ledger_->resume_at(state_.ledger_round);
  if (ledger_ && ledger_->foreign() > 0 && control_.rank() == 0)
    log_warning(ledger_->foreign(), " verdicts of this run were given by a verifier of another kind or with ",
                "other settings: they do not count for what is verified from now on");
  if (directory_) {
    run_log_ = std::make_unique<RunLog>(*directory_, state_.log_bytes, settings.samples_per_step);
    checkpoints_ = std::make_unique<CheckpointStore>(directory_->path() / "checkpoints");
  }
  if (directory_ && policy_.has_adapters()) base_checksum_ = policy_.store().checksum();
  writer_ = std::make_unique<CheckpointWriter>(control_, checkpoints_.get(), policy_.config(), tokenizer_,
                                               settings.checkpoint_in_background);
  writer_->reserve(checkpoint_part());
  if (!directory_) return;
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
      *ranks.trainer_control, *ranks.trainer_tensors, settings_.trainer.sharding,
      settings_.trainer.recompute);
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
  if (!weights_ || weights_version_ == state_.policy_version) return;
  weights_->synchronise(state_.policy_version);
  weights_version_ = state_.policy_version;
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
          .engine = engine_,
          .tasks = tasks_,
          .placement = placement_,
          .updater = updater_.get(),
          .curation = curation_,
          .verifier = verifier_,
          .reward = reward_,
          .ledger = ledger_.get(),
          .bring_weights = [this] { bring_weights(); },
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
  if (policy_.has_adapters() && settings_.warm_up.steps == 0) {
    reference_ = policy_.base();  // adapters that nothing has trained change nothing
    return *reference_;
  }
  if (state_.phase <= first_stage && state_.step == 0) {
    reference_ = policy_.has_adapters() ? policy_.frozen_copy() : policy_.clone();
    return *reference_;
  }
  // The run goes on within reinforcement; what it began with lies in a checkpoint, or can be made again.
  const fs::path warm_up = settings_.directory / "checkpoints" / kWarmUpPhase;
  if (settings_.warm_up.steps > 0 && !fs::is_directory(warm_up))
    throw InputError(concat(warm_up.string(), " is missing, and kl_reference=initial needs it"));
  if (policy_.has_adapters()) {
    reference_ = policy_.frozen_copy();
    load_adapters(adapter_folder(warm_up), *reference_);
    return *reference_;
  }
  reference_ =
      first_policy(settings_, tokenizer_, settings_.warm_up.steps > 0 ? warm_up : fs::path(), control_);
  return *reference_;
}

RunEnd TrainingRun::run() {
  try {
    const RunEnd end = run_phases();
    finish_checkpoint();
    return end;
  } catch (const Error& error) {
    finish_checkpoint_after(error);
    throw;
  }
}

RunEnd TrainingRun::run_phases() {
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
  print_end();
  return RunEnd::kFinished;
}

bool TrainingRun::finish_phase(Phase& phase) {
  state_.seconds_in_phase = seconds_before_ + in_phase_.seconds();
  if (!state_saved_) save_checkpoint(phase.name());
  state_.phase_seconds.emplace_back(phase.name(), state_.seconds_in_phase);
  if (evaluates() && (!settings_.evaluation.last_phase_alone || phase.name() == last_phase())) {
    if (!evaluate_apart(phase.name())) return false;
    if (newest_is_best()) mark_best(phase);
  }
  finish_checkpoint();
  // Only now: a policy that cannot be evaluated may have been broken within this phase.
  remove_checkpoints_within(phase, /*keep=*/0);
  if (directory_) write_summary();
  return true;
}

bool TrainingRun::stopping() { return on_any_rank(control_, stop_requested_()); }

int64_t TrainingRun::run_step() const {
  int64_t steps = state_.step;
  for (int64_t i = 0; i < state_.phase; ++i) steps += phases_[static_cast<size_t>(i)]->steps();
  return steps;
}

}  // namespace bicrl
