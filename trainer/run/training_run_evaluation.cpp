// How a run tries its policy on held-out tasks, and which of the evaluations was the best.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "common/files.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/rng.h"
#include "trainer/evaluation/evaluated_response.h"
#include "trainer/inputs/prompt_filter.h"
#include "trainer/run/program_pair.h"
#include "trainer/run/training_run.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr const char* kEvaluations = "evaluations";

}  // namespace

bool TrainingRun::evaluates() const {
  return verifier_ && settings_.replay.updates() && !tasks_.held_out.empty();
}

bool TrainingRun::rewards() const { return !settings_.stages.empty(); }

bool TrainingRun::evaluate_start() {
  const bool before_all = state_.phase == 0 && state_.step == 0 && state_.evaluations.empty();
  if (!before_all || settings_.warm_up.steps > 0 || settings_.stages.empty() || !evaluates()) return true;
  if (settings_.evaluation.last_phase_alone) return true;
  return evaluate_apart(std::string(kStartEvaluation));
}

bool TrainingRun::evaluate_apart(const std::string& name) {
  if (!evaluate_as(name)) return false;
  const EvaluationResult& result = state_.evaluations.back();
  state_.phase_seconds.emplace_back(name + "_evaluation",
                                    result.seconds + (result.best_of ? result.best_of->seconds : 0));
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

bool TrainingRun::evaluate_extended(Phase& phase) {
  const bool was_best = checkpoints_ && checkpoints_->best_name() == phase.name();
  save_within_phase(phase);
  if (was_best) mark_best(phase);
  if (!evaluates()) return true;
  if (!evaluate_as(name_within(phase))) return false;
  state_saved_ = false;
  if (newest_is_best()) mark_best(phase);
  return true;
}

bool TrainingRun::newest_is_best() const {
  return best_of_all(state_.evaluations, settings_.best_metric) == &state_.evaluations.back();
}

void TrainingRun::open_evaluations() {
  on_rank_zero(control_, [&] {
    if (!directory_) return;
    const fs::path folder = directory_->path() / kEvaluations;
    std::error_code failure;
    fs::create_directories(folder, failure);
    if (failure) throw Error(concat("cannot create ", folder.string(), ": ", failure.message()));
    check_writable((folder / "responses.jsonl").string());
  });
}

TaskScores TrainingRun::score_and_keep(const std::string& file, const std::vector<Task>& tasks,
                                       ScoringSettings settings) {
  settings.prompt_style = settings_.tasks.prompt_style;
  settings.keep = KeptResponses::kEvaluated;
  settings.reward = rewards() ? &reward_ : nullptr;
  settings.quarantine = &curation_.quarantine();
  settings.stop_requested = stop_requested_;
  TaskScores scores = score_tasks(engine_, *verifier_, ledger_.get(), control_, placement_, tasks, settings);
  if (updater_) engine_.release_memory();
  if (scores.interrupted) return scores;
  on_rank_zero(control_, [&] {
    if (directory_) directory_->write(concat(kEvaluations, "/", file, ".jsonl"), scores.responses);
  });
  return scores;
}

std::string TrainingRun::last_phase() const {
  for (auto phase = phases_.rbegin(); phase != phases_.rend(); ++phase)
    if ((*phase)->steps() > 0) return (*phase)->name();
  return {};
}

bool TrainingRun::measures_best_of(const std::string& name) const {
  const BestOfSettings& best = settings_.evaluation.best_of;
  return best.tasks > 0 && (name == last_phase() || (best.after_warm_up && name == kWarmUpPhase));
}

std::optional<BestOf> TrainingRun::evaluate_best_of(const std::string& name) {
  const BestOfSettings& best = settings_.evaluation.best_of;
  const Stopwatch watch;
  const auto end = tasks_.held_out.begin() + std::min(best.tasks, std::ssize(tasks_.held_out));
  const TaskScores scores = score_and_keep(concat(name, "_best_of"), {tasks_.held_out.begin(), end},
                                           {.decoding = best.decoding,
                                            .samples_per_task = best.samples,
                                            .key = mix_key(settings_.seed, "best_of")});
  if (scores.interrupted) return std::nullopt;
  return best_of(scores, best.samples, watch.seconds());
}

bool TrainingRun::measures_infilling(const std::string& name) const {
  if (settings_.evaluation.infilling_tasks == 0) return false;
  const std::string phase = name.substr(0, name.find('-'));
  bool is_before = phase == kStartEvaluation;  // and no phase since
  for (const auto& each : phases_) {
    if (each->steps() == 0) continue;
    const bool infills = each->stage() == Stage::kInfilling;
    if (is_before || (each->name() == phase && infills)) return infills;
    is_before = each->name() == phase && name == phase;
  }
  return false;
}

bool TrainingRun::can_infill(const Task& task) const {
  const DecodingSettings& decoding = settings_.evaluation.decoding;
  return task.has_scaffold() &&
         fits(make_prompt(task, Stage::kInfilling, settings_.tasks.prompt_style, decoding.scaffold),
              tokenizer_, policy_.config(), decoding);
}

std::optional<HeldOutFigures> TrainingRun::evaluate_infilling(const std::string& name) {
  const Stopwatch watch;
  std::vector<Task> tasks;
  for (const Task& task : tasks_.held_out)
    if (std::ssize(tasks) < settings_.evaluation.infilling_tasks && can_infill(task)) tasks.push_back(task);
  if (tasks.empty()) return HeldOutFigures{};
  const TaskScores scores =
      score_and_keep(concat(name, "_as_infilling"), tasks,
                     {.stage = Stage::kInfilling, .decoding = settings_.evaluation.decoding});
  if (scores.interrupted) return std::nullopt;
  require_verdicts(name, scores);
  return held_out_figures(scores, watch.seconds());
}

void TrainingRun::require_verdicts(const std::string& name, const TaskScores& scores) const {
  const std::string problem = unverified_problem(scores.unverified, settings_.max_unverified_share);
  if (problem.empty()) return;
  throw SharedError(concat("evaluation ", moment_of(name), ": ", problem, " (run.max_unverified_share is ",
                           settings_.max_unverified_share, "): ", scores.unverified_reason,
                           "\nWhat was learnt is saved; the same command evaluates it again."));
}

bool TrainingRun::evaluate_as(const std::string& name) {
  if (stopping()) return false;
  const Stopwatch watch;
  bring_weights();
  leave_out_held_out();
  const TaskScores scores =
      score_and_keep(name, tasks_.held_out, {.decoding = settings_.evaluation.decoding});
  if (scores.interrupted) return false;
  leave_out_faults(scores);
  require_verdicts(name, scores);
  EvaluationResult result;
  static_cast<HeldOutFigures&>(result) = held_out_figures(scores, watch.seconds());
  result.phase = name;
  if (rewards()) result.reward_basis = hash_hex(reward_.resolved_yaml());
  if (measures_infilling(name)) {
    result.infilling = evaluate_infilling(name);
    if (!result.infilling) return false;
    if (result.infilling->tasks == 0) result.infilling.reset();
  }
  if (measures_best_of(name) && !tasks_.held_out.empty()) {
    result.best_of = evaluate_best_of(name);
    if (!result.best_of) return false;
  }
  state_.evaluations.push_back(result);
  if (run_log_) run_log_->evaluation(result, run_step());
  if (directory_)
    log_info(moment_of(name), " (", clock_text(state_.seconds_in_phase),
             "): ", std::lround(1000 * result.correct_rate) / 10.0, " % of ", result.tasks,
             " held-out tasks correct, ", std::lround(1000 * result.compile_rate) / 10.0,
             " % compile (evaluation ", clock_text(result.seconds), ")");
  return true;
}

void TrainingRun::print_end() const {
  if (!directory_) return;
  if (!state_.evaluations.empty()) {
    std::cout << "\n" << evaluation_table(state_.evaluations, reward_.uses_times() ? reward_.clock() : "");
    print_program_pair();
  }
  std::cout << "\n" << best_and_newest() << std::endl;
}

void TrainingRun::print_program_pair() const {
  const auto timed = std::ranges::any_of(state_.evaluations, [](const auto& e) { return e.timed > 0; });
  const std::string before(settings_.warm_up.steps > 0 ? kWarmUpPhase : kStartEvaluation),
      after = last_phase();
  const auto known = [&](const std::string& name) {
    return std::ranges::any_of(state_.evaluations, [&](const auto& e) { return e.phase == name; });
  };
  if (!timed || before == after || !known(before) || !known(after)) return;
  try {
    const fs::path folder = directory_->path() / kEvaluations;
    const auto pair = choose_program_pair(read_evaluated_responses(folder / (before + ".jsonl")),
                                          read_evaluated_responses(folder / (after + ".jsonl")));
    std::cout << "\n" << program_pair_text(pair, moment_of(before), moment_of(after));
  } catch (const Error& error) {  // somebody removed the file; the run has ended all the same
    log_warning("no program is shown: ", error.what());
  }
}

std::string TrainingRun::best_and_newest() const {
  const fs::path folder = directory_->path() / "checkpoints";
  const auto described = [&](const std::string& name) {
    for (const EvaluationResult& result : state_.evaluations)
      if (result.phase == name && settings_.best_metric != BestMetric::kNone)
        return concat((folder / name).string(), " (", metric_text(result, settings_.best_metric), ")");
    return (folder / name).string();
  };
  const std::string best = checkpoints_->best_name(), newest = checkpoints_->newest_name();
  if (best == newest) return concat("newest and best checkpoint: ", described(best));
  return concat("best checkpoint: ", described(best), "\nnewest checkpoint: ", described(newest));
}

void TrainingRun::leave_out_faults(const TaskScores& scores) {
  for (size_t i = 0; i < scores.tasks.size(); ++i) {
    const std::string& reason = scores.tasks[i].invalid_task;
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
