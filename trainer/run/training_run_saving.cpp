// What a run leaves in its directory and goes on from.
#include <nlohmann/json.hpp>

#include "common/log.h"
#include "policy/adapter_io.h"
#include "policy/checkpoint_io.h"
#include "trainer/run/training_run.h"
#include "trainer/update/training_memory.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

std::string numbered(const std::string& phase, int64_t step) {
  const std::string digits = std::to_string(step);
  return phase + "-" + std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') + digits;
}

}  // namespace

void TrainingRun::resume(const fs::path& checkpoint) {
  state_ = read_run_state(checkpoint);
  state_saved_ = true;
  if (state_.phase < 0 || state_.phase >= static_cast<int64_t>(phases_.size()))
    throw InputError(concat(checkpoint.string(), ": the run has no phase number ", state_.phase));
  Phase& phase = *phases_[static_cast<size_t>(state_.phase)];
  // After a phase's last step only its evaluation is left, which asks for no state.
  if (state_.step < phase.steps()) {
    phase.begin();
    phase.restore(state_.phase_state);
  }
  curation_.restore(state_.curation);
  leave_out_held_out();
  // Ranks that only generate have no optimizer to find a fault in.
  on_all_ranks(control_, [&] {
    if (updater_) restore_updater(checkpoint, *updater_);
  });
  seconds_before_ = state_.seconds_in_phase;
  seconds_before_run_ = state_.seconds_in_phase;
  for (const auto& [name, seconds] : state_.phase_seconds) seconds_before_run_ += seconds;
  // Only the checkpoint of a phase's end has its name.
  extends_ = state_.step < phase.steps() && checkpoint.filename() == phase.name();
  if (control_.rank() != 0) return;
  log_info("going on after ", phase.name(), " step ", state_.step, " of ", phase.steps(), " (",
           checkpoint.string(), ")");
  if (state_.ranks != placement_.trainers())
    log_warning("the run had ", state_.ranks, " ranks and goes on with ", placement_.trainers(),
                " that train: sums come in another order, so results may differ in the last digits");
}

CheckpointPart TrainingRun::checkpoint_part() const {
  CheckpointPart part{
      .updater = updater_ ? updater_file(*updater_, control_.rank(), placement_.trainers()) : std::nullopt,
      .weights = {},
      .written_as = {},
      .adapters = {},
      .state = {}};
  if (control_.rank() != 0) return part;
  part.weights = policy_.parameters();
  part.written_as = merging(policy_);
  if (policy_.has_adapters())
    part.adapters = adapter_files(policy_, settings_.policy.checkpoint.string(), base_checksum_);
  part.state = state_;
  return part;
}

void TrainingRun::save_checkpoint(const std::string& name) {
  finish_checkpoint();
  const Stopwatch watch;
  state_.ledger_round = ledger_ ? ledger_->round() : 0;
  state_.curation = curation_.state();
  state_.ranks = placement_.trainers();
  // On every rank: a checkpoint must not outlive the verdicts that it counts on.
  if (ledger_) ledger_->sync();
  on_rank_zero(control_, [&] {
    if (!run_log_) return;
    run_log_->sync();
    state_.log_bytes = run_log_->log_bytes();
  });
  writer_->begin(name, checkpoint_bytes(), checkpoint_part());
  state_saved_ = true;
  since_checkpoint_.restart();
  saving_.stall += watch.seconds();
  if (!settings_.checkpoint_in_background) finish_checkpoint();
}

void TrainingRun::finish_checkpoint() {
  if (!writer_->under_way()) return;
  const Stopwatch watch;
  saving_.write += writer_->finish();
  if (checkpoints_ && best_is_newest()) checkpoints_->mark_best();
  if (state_.phase < static_cast<int64_t>(phases_.size()))
    remove_checkpoints_within(*phases_[static_cast<size_t>(state_.phase)], settings_.keep_checkpoints);
  saving_.stall += watch.seconds();
}

bool TrainingRun::best_is_newest() const {
  return state_.evaluations.empty() || settings_.best_metric == BestMetric::kNone;
}

void TrainingRun::finish_checkpoint_after(const Error& error) {
  // An error of one rank among several leaves the others elsewhere.
  if (control_.size() > 1 && !dynamic_cast<const SharedError*>(&error)) return;
  try {
    finish_checkpoint();
  } catch (const Error& another) {
    if (control_.rank() == 0) log_warning(another.what());
  }
}

void TrainingRun::save_within_phase(const Phase& phase) {
  state_.seconds_in_phase = seconds_before_ + in_phase_.seconds();
  save_checkpoint(state_.step < phase.steps() ? name_within(phase) : phase.name());
}

std::string TrainingRun::name_within(const Phase& phase) const { return numbered(phase.name(), state_.step); }

void TrainingRun::mark_best(const Phase& phase) {
  finish_checkpoint();
  on_rank_zero(control_, [&] {
    if (!checkpoints_) return;
    const std::string before = checkpoints_->best_name();
    checkpoints_->mark_best();
    // Of the same phase it is one of several, some of which are kept.
    if (before.find('-') != std::string::npos && !before.starts_with(phase.name() + "-"))
      checkpoints_->remove(before);
  });
}

uint64_t TrainingRun::checkpoint_bytes() const {
  const TrainingMemory memory = training_memory(policy_.config(), policy_.dtype(), {}, 1, policy_.lora());
  return static_cast<uint64_t>(memory.weights_bytes + memory.optimizer_bytes);
}

void TrainingRun::remove_checkpoints_within(Phase& phase, int64_t keep) {
  if (!checkpoints_) return;
  const std::string prefix = phase.name() + "-";
  const auto names_within = [&] {
    std::vector<std::string> names;  // ascending, as steps have a fixed number of digits
    for (const std::string& name : checkpoints_->names())
      if (name.starts_with(prefix)) names.push_back(name);
    return names;
  };
  const std::vector<std::string> names = names_within();
  for (int64_t i = 0; i + keep < static_cast<int64_t>(names.size()); ++i)
    checkpoints_->remove(names[static_cast<size_t>(i)]);
  std::set<int64_t> steps;
  for (const std::string& name : names_within())  // the best one stays as well
    steps.insert(std::stoll(name.substr(prefix.size())));
  phase.keep_for_checkpoints(steps);
}

void TrainingRun::write_summary() const {
  nlohmann::json summary = {{"ranks", control_.size()},
                            {"seed", settings_.seed},
                            {"parameters", policy_.config().parameter_count()},
                            {"trained_parameters", policy_.trained().layout().parameter_count()},
                            {"policy_version", state_.policy_version},
                            {"reward", reward_.rule_name()},
                            {"held_out", nlohmann::json::object()},
                            {"seconds", nlohmann::json::object()}};
  summary["best_checkpoint"] = checkpoints_->best_name();
  if (settings_.tasks.synthetic) summary["held_out_split"] = to_string(settings_.tasks.split);
  for (const EvaluationResult& result : state_.evaluations)
    summary["held_out"][result.phase] = to_json(result);
  double total = 0;
  for (const auto& [phase, seconds] : state_.phase_seconds) {
    summary["seconds"][phase] = seconds;
    total += seconds;
  }
  summary["seconds"]["total"] = total;
  directory_->write("summary.json", summary.dump(2) + "\n");
}

}  // namespace bicrl
