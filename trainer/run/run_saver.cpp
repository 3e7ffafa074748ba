#include "trainer/run/run_saver.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "common/log.h"
#include "policy/files/adapter_io.h"
#include "policy/files/checkpoint_io.h"
#include "trainer/run/reports/run_log.h"
#include "trainer/update/memory/training_memory.h"

namespace bicrl {
namespace {

std::string numbered(const std::string& phase, int64_t step) {
  const std::string digits = std::to_string(step);
  return phase + "-" + std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') + digits;
}

}  // namespace

RunSaver::RunSaver(const RunContext& context, RunProgress& progress, bool is_saved)
    : context_(context),
      progress_(progress),
      is_saved_(is_saved),
      base_checksum_(context.directory && context.policy.has_adapters() ? context.policy.store().checksum()
                                                                        : ""),
      store_(context.directory ? std::make_unique<CheckpointStore>(context.directory->path() / "checkpoints")
                               : nullptr),
      writer_(std::make_unique<CheckpointWriter>(context.control, store_.get(), context.policy.config(),
                                                 context.tokenizer,
                                                 context.settings.checkpoint_in_background)) {
  // For a checkpoint that holds up a step. Without a clock a phase may end before the first one.
  if (context.settings.checkpoint_every_s > 0) writer_->reserve(part());
}

CheckpointPart RunSaver::part() const {
  const int rank = context_.control.rank();
  CheckpointPart part{.updater = context_.updater
                                     ? updater_file(*context_.updater, rank, context_.placement.trainers())
                                     : std::nullopt,
                      .weights = {},
                      .written_as = {},
                      .adapters = {},
                      .state = {}};
  if (rank != 0) return part;
  part.weights = context_.policy.parameters();
  part.written_as = merging(context_.policy);
  if (context_.policy.has_adapters())
    part.adapters =
        adapter_files(context_.policy, context_.settings.policy.checkpoint.string(), base_checksum_);
  part.state = progress_.state;
  return part;
}

void RunSaver::save(const std::string& name) {
  finish();
  const Stopwatch watch;
  RunState& state = progress_.state;
  state.ledger_round = context_.ledger ? context_.ledger->round() : 0;
  state.curation = context_.curation.state();
  state.ranks = context_.placement.trainers();
  // On every rank: a checkpoint must not outlive the verdicts that it counts on.
  if (context_.ledger) context_.ledger->sync();
  on_rank_zero(context_.control, [&] {
    if (!context_.log) return;
    context_.log->sync();
    state.log_bytes = context_.log->log_bytes();
  });
  writer_->begin(name, expected_bytes(), part());
  is_saved_ = true;
  since_save_.restart();
  seconds_.stall += watch.seconds();
  if (!context_.settings.checkpoint_in_background) finish();
}

void RunSaver::finish() {
  if (!writer_->under_way()) return;
  const Stopwatch watch;
  seconds_.write += writer_->finish();
  if (store_ && best_is_newest()) store_->mark_best();
  if (!progress_.has_ended()) remove_within_phase(context_.settings.keep_checkpoints);
  seconds_.stall += watch.seconds();
}

bool RunSaver::best_is_newest() const {
  // That of the start has no checkpoint.
  const bool is_evaluated = std::ranges::any_of(
      progress_.state.evaluations, [](const EvaluationResult& r) { return r.phase != kStartEvaluation; });
  return !is_evaluated || context_.settings.best_metric == BestMetric::kNone;
}

void RunSaver::finish_after(const Error& error) {
  // An error of one rank among several leaves the others elsewhere.
  if (context_.control.size() > 1 && !dynamic_cast<const SharedError*>(&error)) return;
  try {
    finish();
  } catch (const Error& another) {
    if (context_.control.rank() == 0) log_warning(another.what());
  }
}

void RunSaver::save_within_phase() {
  RunState& state = progress_.state;
  state.seconds_in_phase = progress_.seconds_in_phase();
  const Phase& phase = progress_.phase();
  save(state.step < phase.steps() ? name_within_phase() : phase.name());
}

std::string RunSaver::name_within_phase() const {
  return numbered(progress_.phase().name(), progress_.state.step);
}

void RunSaver::mark_best() {
  finish();
  on_rank_zero(context_.control, [&] {
    if (!store_) return;
    const std::string before = store_->best_name();
    store_->mark_best();
    // Of the same phase it is one of several, some of which are kept.
    if (before.find('-') != std::string::npos && !before.starts_with(progress_.phase().name() + "-"))
      store_->remove(before);
  });
}

uint64_t RunSaver::expected_bytes() const {
  const Transformer& policy = context_.policy;
  const TrainingMemory memory = training_memory(policy.config(), policy.dtype(), {}, 1, policy.lora());
  return static_cast<uint64_t>(memory.weights_bytes + memory.optimizer_bytes);
}

void RunSaver::remove_within_phase(int64_t keep) {
  if (!store_) return;
  Phase& phase = progress_.phase();
  const std::string prefix = phase.name() + "-";
  const auto names_within = [&] {
    std::vector<std::string> names;  // ascending, as steps have a fixed number of digits
    for (const std::string& name : store_->names())
      if (name.starts_with(prefix) && name.find_first_not_of("0123456789", prefix.size()) == name.npos)
        names.push_back(name);
    return names;
  };
  const std::vector<std::string> names = names_within();
  for (int64_t i = 0; i + keep < static_cast<int64_t>(names.size()); ++i)
    store_->remove(names[static_cast<size_t>(i)]);
  std::set<int64_t> steps;
  for (const std::string& name : names_within())  // the best one stays as well
    steps.insert(std::stoll(name.substr(prefix.size())));
  phase.keep_for_checkpoints(steps);
}

bool RunSaver::is_due() const {
  const double every_s = context_.settings.checkpoint_every_s;
  return every_s > 0 && since_save_.seconds() >= every_s;
}

CheckpointSeconds RunSaver::take_seconds() { return std::exchange(seconds_, {}); }

void RunSaver::write_summary() const {
  if (!context_.directory) return;
  const RunState& state = progress_.state;
  nlohmann::json summary = {{"ranks", context_.control.size()},
                            {"seed", context_.settings.seed},
                            {"parameters", context_.policy.config().parameter_count()},
                            {"trained_parameters", context_.policy.trained().layout().parameter_count()},
                            {"policy_version", state.policy_version},
                            {"reward", context_.rewards.rule_names()},
                            {"held_out", nlohmann::json::object()},
                            {"seconds", nlohmann::json::object()}};
  summary["best_checkpoint"] = store_->best_name();
  if (context_.settings.tasks.synthetic) summary["held_out_split"] = to_string(context_.settings.tasks.split);
  for (const EvaluationResult& result : state.evaluations)
    summary["held_out"][result.phase] = to_json(result);
  double total = 0;
  for (const auto& [phase, seconds] : state.phase_seconds) {
    summary["seconds"][phase] = seconds;
    total += seconds;
  }
  summary["seconds"]["total"] = total;
  context_.directory->write("summary.json", summary.dump(2) + "\n");
}

}  // namespace bicrl
