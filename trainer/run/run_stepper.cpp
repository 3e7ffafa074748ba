#include "trainer/run/run_stepper.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/log.h"
#include "trainer/run/layout/run_memory.h"
#include "trainer/run/reports/model_flops.h"
#include "trainer/run/update_check.h"

namespace bicrl {

std::optional<StepAgreement> RunStepper::take(Phase& phase) {
  const Stopwatch watch;
  RunState& state = progress_.state;
  const nlohmann::json before = phase.state();
  PhaseStep taken;
  try {
    taken = phase.step(state.step + 1, state.policy_version);
  } catch (const StepAborted& error) {
    state.phase_state = before;
    if (!saver_.is_saved()) saver_.save_within_phase();
    if (dynamic_cast<const StepInterrupted*>(&error)) return std::nullopt;
    throw;
  }
  taken.seconds.step = watch.seconds();
  StepAgreement agreement;
  const StepMetrics metrics = close(phase, taken, agreement);
  if (const std::string problem = update_problem(metrics.update, context_.settings.max_loss);
      !problem.empty())
    throw SharedError(concat(phase.name(), " step ", metrics.step, ": ", problem, " ", phase.keep_batch()));
  const auto made = [&](UpdateRow row) { return static_cast<int64_t>(metrics.update[row]); };
  ++state.step;
  state.policy_version += made(UpdateRow::kUpdates) - made(UpdateRow::kSkippedUpdates);
  state.phase_state = phase.state();
  saver_.note_change();
  log(metrics, taken);
  if (trial_) trial_->note(metrics, std::move(taken.generation));
  if (metrics.responses && metrics.meaning.verified)
    if (const std::string idle = idle_steps_.note(*metrics.responses); !idle.empty() && context_.log)
      log_warning(phase.name(), " step ", metrics.step, ": ", idle);
  note_skipped(phase, metrics);
  return agreement;
}

void RunStepper::log(const StepMetrics& metrics, const PhaseStep& taken) {
  if (!context_.log) return;
  const double seconds_in_phase = progress_.seconds_in_phase();
  context_.log->responses(metrics, progress_.run_step(), taken.episodes, taken.tokens);
  context_.log->step(metrics, progress_.run_step(), seconds_in_phase,
                     seconds_left(metrics, seconds_in_phase));
}

std::optional<double> RunStepper::seconds_left(const StepMetrics& metrics, double seconds_in_phase) const {
  const auto phase = progress_.phases.begin() + progress_.state.phase;
  const auto responses = static_cast<double>((*phase)->responses_per_step());
  if (responses == 0) return std::nullopt;
  const std::vector<EvaluationResult>& evaluations = progress_.state.evaluations;
  double evaluation_seconds = 0;
  for (const EvaluationResult& result : evaluations) evaluation_seconds += result.seconds;
  if (!evaluations.empty()) evaluation_seconds /= static_cast<double>(evaluations.size());
  const double seconds_a_response = seconds_in_phase / static_cast<double>(metrics.step) / responses;
  double left = 0;
  for (auto each = phase; each != progress_.phases.end(); ++each) {
    const int64_t steps = (*each)->steps() - (each == phase ? metrics.step : 0);
    left += seconds_a_response * static_cast<double>(steps * (*each)->responses_per_step());
    if ((*each)->steps() > 0) left += evaluation_seconds;
  }
  return left;
}

void RunStepper::note_skipped(Phase& phase, const StepMetrics& metrics) {
  const auto skipped = static_cast<int64_t>(metrics.update[UpdateRow::kSkippedUpdates]);
  if (skipped == 0) return;
  RunState& state = progress_.state;
  state.skipped_updates += skipped;
  const std::string what =
      concat(phase.name(), " step ", metrics.step, ": ", skipped, " of ", metrics.update[UpdateRow::kUpdates],
             " updates skipped, because the gradient is not finite. ", phase.keep_batch());
  if (context_.log) log_warning(what);
  if (state.skipped_updates <= context_.settings.max_skipped_updates) return;
  saver_.save_within_phase();
  throw SharedError(concat(what, "\n", state.skipped_updates,
                           " updates of this run were skipped (run.max_skipped_updates is ",
                           context_.settings.max_skipped_updates,
                           "); the policy is saved as it was before, and the same command goes on until the "
                           "next one."));
}

namespace {

// What a rank says of a step beside its update. Trivially copyable: ranks exchange the bytes.
struct StepClose {
  StepSeconds seconds;
  CheckpointSeconds saving;
  int64_t memory_peak_bytes;
  int64_t verifier_queue;
  bool stop;
  bool checkpoint_due;
  bool checkpoint_written;
};

std::string close_bytes(const StepClose& close, const std::vector<double>& figures) {
  std::string bytes(reinterpret_cast<const char*>(&close), sizeof close);
  return bytes.append(reinterpret_cast<const char*>(figures.data()), figures.size() * sizeof(double));
}

std::pair<StepClose, std::vector<double>> close_from_bytes(const std::string& bytes) {
  StepClose close;
  std::vector<double> figures((bytes.size() - sizeof close) / sizeof(double));
  std::memcpy(&close, bytes.data(), sizeof close);
  std::memcpy(figures.data(), bytes.data() + sizeof close, figures.size() * sizeof(double));
  return {close, std::move(figures)};
}

}  // namespace

StepMetrics RunStepper::close(Phase& phase, const PhaseStep& taken, StepAgreement& agreement) {
  StepMetrics metrics{.phase = phase.name(),
                      .step = progress_.state.step + 1,
                      .steps = phase.steps(),
                      .responses = taken.responses,
                      .meaning = taken.meaning};
  if (const int64_t steps = phase.steps_per_epoch(); steps > 0) {
    metrics.epoch = (metrics.step - 1) / steps + 1;
    metrics.epochs = metrics.steps / steps;
  }
  metrics.load.generators = ranks_.placement.generators();
  metrics.load.trainers = ranks_.placement.trainers();
  metrics.load.collectives = ranks_.take_account();
  StepSeconds seconds = taken.seconds;
  for (const auto& [kind, figures] : metrics.load.collectives) seconds.collectives += figures.waited_s;
  const StepClose mine = {.seconds = seconds,
                          .saving = saver_.take_seconds(),
                          .memory_peak_bytes = memory_peak_bytes(context_.policy.device()),
                          .verifier_queue = taken.verifier_queue,
                          .stop = context_.stop_requested(),
                          .checkpoint_due = saver_.is_due(),
                          .checkpoint_written = saver_.is_written()};
  std::vector<std::vector<double>> updates;
  bool written = true;
  for (const std::string& bytes : ranks_.control.all_gather(close_bytes(mine, taken.update.values()))) {
    auto [rank, figures] = close_from_bytes(bytes);
    updates.push_back(std::move(figures));
    metrics.load.seconds_of_ranks.push_back(rank.seconds);
    StepSeconds& slowest = metrics.seconds;
    for (const StepSecondsField& field : kStepSeconds)
      slowest.*field.value = std::max(slowest.*field.value, rank.seconds.*field.value);
    metrics.saving.stall = std::max(metrics.saving.stall, rank.saving.stall);
    metrics.saving.write = std::max(metrics.saving.write, rank.saving.write);
    metrics.load.memory_peak_bytes = std::max(metrics.load.memory_peak_bytes, rank.memory_peak_bytes);
    metrics.load.verifier_queue += rank.verifier_queue;
    agreement.stop |= rank.stop;
    agreement.checkpoint_due |= rank.checkpoint_due;
    written &= rank.checkpoint_written;
  }
  agreement.checkpoint_written = written && saver_.is_under_way();
  agreement.checkpoint_due &= written;  // one that is due waits for the one under way, not the run
  metrics.update = UpdateStatistics(taken.update.objective_figures(), updates);
  metrics.load.mfu = utilisation(metrics.update, metrics.seconds.train);
  return metrics;
}

std::optional<double> RunStepper::utilisation(const UpdateStatistics& update, double train_seconds) const {
  const Transformer& policy = context_.policy;
  if (!policy.device().is_cuda() || train_seconds <= 0) return std::nullopt;
  const std::optional<double> peak = peak_bf16_flops(gpu_name());
  if (!peak) return std::nullopt;
  const double flops = training_flops(policy.config(), policy.has_adapters(), update[UpdateRow::kPackedRows],
                                      update[UpdateRow::kScoredRows], update[UpdateRow::kPackedPairs]);
  return flops / (*peak * ranks_.placement.trainers() * train_seconds);
}

}  // namespace bicrl
