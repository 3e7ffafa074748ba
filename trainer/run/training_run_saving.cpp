// What a run leaves in its directory and goes on from.
#include <nlohmann/json.hpp>

#include "common/log.h"
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
  restore_updater(checkpoint, updater_);
  seconds_before_ = state_.seconds_in_phase;
  if (control_.rank() != 0) return;
  log_info("going on after ", phase.name(), " step ", state_.step, " of ", phase.steps(), " (",
           checkpoint.string(), ")");
  if (state_.ranks != control_.size())
    log_warning("the run had ", state_.ranks, " ranks and goes on with ", control_.size(),
                ": sums come in another order, so results may differ in the last digits");
}

void TrainingRun::save_checkpoint(const std::string& name) {
  state_.ledger_round = ledger_ ? ledger_->round() : 0;
  state_.curation = curation_.state();
  state_.ranks = control_.size();
  // On every rank: a checkpoint must not outlive the verdicts that it counts on.
  if (ledger_) ledger_->sync();
  fs::path folder;
  try {
    on_rank_zero(control_, [&] {
      if (checkpoints_) folder = checkpoints_->begin(name, checkpoint_bytes());
    });
    folder = control_.all_gather(folder.string()).front();
    const std::map<std::string, FileHash> shards = write_shards(folder);
    on_rank_zero(control_, [&] {
      if (!checkpoints_) return;
      run_log_->sync();
      state_.log_bytes = run_log_->log_bytes();
      save_policy(folder, policy_, tokenizer_);
      write_run_state(folder, state_);
      checkpoints_->commit(name, shards);
    });
  } catch (...) {
    if (checkpoints_) checkpoints_->discard(name);
    throw;
  }
  state_saved_ = true;
  since_checkpoint_.restart();
}

std::map<std::string, FileHash> TrainingRun::write_shards(const fs::path& folder) {
  std::optional<std::string> file;
  FileHash hash;
  const std::string error = error_of([&] {
    file = write_updater(folder, updater_, control_.rank(), control_.size());
    if (file) hash = hash_file(folder / *file);
  });
  const nlohmann::json mine = {
      {"error", error}, {"file", file.value_or("")}, {"bytes", hash.bytes}, {"xxh128", hash.hex}};
  std::vector<std::string> errors;
  std::map<std::string, FileHash> files;
  for (const std::string& record :
       control_.all_gather(mine.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))) {
    const auto rank = nlohmann::json::parse(record);
    errors.push_back(rank.at("error").get<std::string>());
    const auto name = rank.at("file").get<std::string>();
    if (!name.empty()) files[name] = {rank.at("bytes").get<uint64_t>(), rank.at("xxh128").get<std::string>()};
  }
  throw_first_error(errors);
  return files;
}

void TrainingRun::save_within_phase(const Phase& phase) {
  state_.seconds_in_phase = seconds_before_ + in_phase_.seconds();
  save_checkpoint(state_.step < phase.steps() ? name_within(phase) : phase.name());
  remove_checkpoints_within(phase, settings_.keep_checkpoints);
}

std::string TrainingRun::name_within(const Phase& phase) const { return numbered(phase.name(), state_.step); }

void TrainingRun::mark_best(const Phase& phase) {
  if (!settings_.keep_best) return;
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
  const TrainingMemory memory = training_memory(policy_.config(), policy_.dtype());
  return static_cast<uint64_t>(memory.weights_bytes + memory.optimizer_bytes);
}

void TrainingRun::remove_checkpoints_within(const Phase& phase, int64_t keep) {
  if (!checkpoints_) return;
  std::vector<std::string> names;  // ascending, as steps have a fixed number of digits
  for (const std::string& name : checkpoints_->names())
    if (name.starts_with(phase.name() + "-")) names.push_back(name);
  for (int64_t i = 0; i + keep < static_cast<int64_t>(names.size()); ++i)
    checkpoints_->remove(names[static_cast<size_t>(i)]);
}

void TrainingRun::write_summary() const {
  nlohmann::json summary = {{"ranks", control_.size()},
                            {"seed", settings_.seed},
                            {"parameters", policy_.config().parameter_count()},
                            {"policy_version", state_.policy_version},
                            {"reward", reward_.rule_name()},
                            {"held_out", nlohmann::json::object()},
                            {"seconds", nlohmann::json::object()}};
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
