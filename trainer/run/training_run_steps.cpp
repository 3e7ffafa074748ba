// TrainingRun's steps: each is taken, closed with what the ranks tell each other, and logged.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/log.h"
#include "trainer/run/model_flops.h"
#include "trainer/run/run_memory.h"
#include "trainer/run/training_run.h"
#include "trainer/run/update_check.h"

namespace bicrl {

bool TrainingRun::run_phase(Phase& phase) {
  if (std::exchange(extends_, false) && !evaluate_extended(phase)) return false;
  stop_agreed_ = stopping();
  while (state_.step < phase.steps()) {
    if (stop_agreed_) {
      if (!state_saved_) save_within_phase(phase);
      return false;
    }
    if (!evaluate_within(phase)) return false;
    if (!take_step(phase)) return false;
    if (written_agreed_) finish_checkpoint();
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
  if (metrics.responses && metrics.meaning.verified)
    if (const std::string idle = idle_steps_.note(*metrics.responses); !idle.empty() && directory_)
      log_warning(phase.name(), " step ", metrics.step, ": ", idle);
  note_skipped(phase, metrics);
  return true;
}

void TrainingRun::log_step(const StepMetrics& metrics, const PhaseStep& taken) {
  if (!run_log_) return;
  const double seconds_in_phase = seconds_before_ + in_phase_.seconds();
  run_log_->responses(metrics, run_step(), taken.entries);
  run_log_->step(metrics, run_step(), seconds_in_phase, seconds_left(metrics, seconds_in_phase));
}

std::optional<double> TrainingRun::seconds_left(const StepMetrics& metrics, double seconds_in_phase) const {
  const auto phase = phases_.begin() + state_.phase;
  const auto responses = static_cast<double>((*phase)->responses_per_step());
  if (responses == 0) return std::nullopt;
  double evaluation_seconds = 0;
  for (const EvaluationResult& result : state_.evaluations) evaluation_seconds += result.seconds;
  if (!state_.evaluations.empty()) evaluation_seconds /= static_cast<double>(state_.evaluations.size());
  const double seconds_a_response = seconds_in_phase / static_cast<double>(metrics.step) / responses;
  double left = 0;
  for (auto each = phase; each != phases_.end(); ++each) {
    const int64_t steps = (*each)->steps() - (each == phase ? metrics.step : 0);
    left += seconds_a_response * static_cast<double>(steps * (*each)->responses_per_step());
    if ((*each)->steps() > 0) left += evaluation_seconds;
  }
  return left;
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
    CheckpointSeconds saving;
    int64_t memory_peak_bytes;
    int64_t verifier_queue;
    bool stop;
    bool checkpoint_due;
    bool checkpoint_written;
  };
  const Close mine = {.update = taken.update,
                      .seconds = taken.seconds,
                      .saving = std::exchange(saving_, {}),
                      .memory_peak_bytes = memory_peak_bytes(policy_.device()),
                      .verifier_queue = taken.verifier_queue,
                      .stop = stop_requested_(),
                      .checkpoint_due = settings_.checkpoint_every_s > 0 &&
                                        since_checkpoint_.seconds() >= settings_.checkpoint_every_s,
                      .checkpoint_written = writer_->written()};
  std::vector<UpdateTotals> updates;
  StepSeconds slowest;
  CheckpointSeconds saving;
  StepLoad load;
  load.ranks = control_.size();
  stop_agreed_ = checkpoint_agreed_ = false;
  bool written = true;
  for (const Close& rank : all_gather_values(control_, mine)) {
    updates.push_back(rank.update);
    slowest.rollout = std::max(slowest.rollout, rank.seconds.rollout);
    slowest.verify_wait = std::max(slowest.verify_wait, rank.seconds.verify_wait);
    slowest.train = std::max(slowest.train, rank.seconds.train);
    slowest.step = std::max(slowest.step, rank.seconds.step);
    stop_agreed_ |= rank.stop;
    load.memory_peak_bytes = std::max(load.memory_peak_bytes, rank.memory_peak_bytes);
    load.verifier_queue += rank.verifier_queue;
    saving.stall = std::max(saving.stall, rank.saving.stall);
    saving.write = std::max(saving.write, rank.saving.write);
    checkpoint_agreed_ |= rank.checkpoint_due;
    written &= rank.checkpoint_written;
  }
  const UpdateStatistics update = over_ranks(updates);
  load.mfu = utilisation(update, slowest.train);
  load.collectives = ranks_.take_account();
  written_agreed_ = written && writer_->under_way();
  checkpoint_agreed_ &= written;  // one that is due waits for the one under way, not the run
  return {.phase = phase.name(),
          .step = state_.step + 1,
          .steps = phase.steps(),
          .responses = taken.responses,
          .meaning = taken.meaning,
          .update = update,
          .seconds = slowest,
          .saving = saving,
          .load = load};
}

std::optional<double> TrainingRun::utilisation(const UpdateStatistics& update, double train_seconds) const {
  if (!policy_.device().is_cuda() || train_seconds <= 0) return std::nullopt;
  const std::optional<double> peak = peak_bf16_flops(gpu_name());
  if (!peak) return std::nullopt;
  const double flops =
      training_flops(policy_.config(), policy_.has_adapters(), static_cast<double>(update.packed_rows),
                     static_cast<double>(update.scored_tokens), update.packed_pairs);
  return flops / (*peak * placement_.trainers() * train_seconds);
}

}  // namespace bicrl
