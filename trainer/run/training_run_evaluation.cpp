// How a run tries its policy on held-out tasks, and which of the evaluations was the best.
#include <algorithm>
#include <cmath>

#include "common/log.h"
#include "trainer/run/training_run.h"

namespace bicrl {

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
  bring_weights();
  const TaskScores scores =
      score_tasks(policy_, tokenizer_, *verifier_, ledger_.get(), control_, placement_, tasks_.held_out,
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

}  // namespace bicrl
