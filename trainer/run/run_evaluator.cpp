#include "trainer/run/run_evaluator.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "common/files/files.h"
#include "common/log.h"
#include "common/rng.h"
#include "trainer/evaluation/evaluated_response.h"
#include "trainer/inputs/prompt_filter.h"
#include "trainer/run/reports/program_pair.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr const char* kEvaluations = "evaluations";

}  // namespace

RunEvaluator::RunEvaluator(const Parts& parts, RunProgress& progress) : parts_(parts), progress_(progress) {
  std::vector<Task>& held_out = parts_.tasks.held_out;
  const auto wanted = static_cast<size_t>(parts_.settings.evaluation.tasks);
  if (wanted == 0) held_out.clear();
  if (evaluates()) {
    open_folder();
    keep_what_fits();
  }
  if (held_out.size() > wanted) held_out.resize(wanted);
  leave_out_held_out();
}

void RunEvaluator::keep_what_fits() {
  const RunSettings& settings = parts_.settings;
  const std::string left_out =
      keep_fitting(parts_.tasks.held_out, "held-out tasks",
                   {Stage::kEndToEnd, settings.tasks.prompt_style, settings.evaluation.decoding},
                   parts_.tokenizer, parts_.policy.config());
  if (!left_out.empty() && parts_.control.rank() == 0) log_warning(left_out);
}

const RewardFunction& RunEvaluator::reward() const {
  const RewardFunction* of_phase = progress_.phase().reward();
  return of_phase ? *of_phase : parts_.rewards.first();
}

bool RunEvaluator::evaluates() const {
  return parts_.verifier && parts_.settings.replay.updates() && !parts_.tasks.held_out.empty();
}

bool RunEvaluator::evaluate_apart(const std::string& name) {
  if (!evaluate(name)) return false;
  const EvaluationResult& result = progress_.state.evaluations.back();
  progress_.state.phase_seconds.emplace_back(name + "_evaluation",
                                             result.seconds + (result.best_of ? result.best_of->seconds : 0));
  return true;
}

bool RunEvaluator::has_result(const std::string& name) const {
  return std::ranges::any_of(progress_.state.evaluations,
                             [&](const EvaluationResult& result) { return result.phase == name; });
}

bool RunEvaluator::newest_is_best() const {
  return best_of_all(progress_.state.evaluations, parts_.settings.best_metric) ==
         &progress_.state.evaluations.back();
}

void RunEvaluator::open_folder() {
  on_rank_zero(parts_.control, [&] {
    if (!parts_.directory) return;
    const fs::path folder = parts_.directory->path() / kEvaluations;
    std::error_code failure;
    fs::create_directories(folder, failure);
    if (failure) throw Error(concat("cannot create ", folder.string(), ": ", failure.message()));
    check_writable((folder / "responses.jsonl").string());
  });
}

TaskScores RunEvaluator::score_and_keep(const std::string& file, const std::vector<Task>& tasks,
                                        ScoringSettings settings) {
  settings.prompt_style = parts_.settings.tasks.prompt_style;
  settings.keep = KeptResponses::kEvaluated;
  settings.reward = is_rewarded() ? &reward() : nullptr;
  settings.quarantine = &parts_.curation.quarantine();
  settings.stop_requested = parts_.stop_requested;
  TaskScores scores = score_tasks(parts_.engine, *parts_.verifier, parts_.ledger, parts_.control,
                                  parts_.placement, tasks, settings);
  if (parts_.placement.trains(parts_.control.rank())) parts_.engine.release_memory();
  if (scores.interrupted) return scores;
  on_rank_zero(parts_.control, [&] {
    if (parts_.directory)
      parts_.directory->write(concat(kEvaluations, "/", file, ".jsonl"), scores.responses);
  });
  return scores;
}

bool RunEvaluator::measures_best_of(const std::string& name) const {
  const BestOfSettings& best = parts_.settings.evaluation.best_of;
  return best.tasks > 0 && (name == progress_.last_phase() || (best.after_warm_up && name == kWarmUpPhase));
}

std::optional<BestOf> RunEvaluator::best_of_samples(const std::string& name) {
  const BestOfSettings& best = parts_.settings.evaluation.best_of;
  const Stopwatch watch;
  const auto end = parts_.tasks.held_out.begin() + std::min(best.tasks, std::ssize(parts_.tasks.held_out));
  const TaskScores scores = score_and_keep(concat(name, "_best_of"), {parts_.tasks.held_out.begin(), end},
                                           {.decoding = best.decoding,
                                            .samples_per_task = best.samples,
                                            .key = mix_key(parts_.settings.seed, "best_of")});
  if (scores.interrupted) return std::nullopt;
  return best_of(scores, best.samples, watch.seconds());
}

bool RunEvaluator::measures_infilling(const std::string& name) const {
  if (parts_.settings.evaluation.infilling_tasks == 0) return false;
  const std::string phase = name.substr(0, name.find('-'));
  bool is_before = phase == kStartEvaluation;  // and no phase since
  for (const auto& each : progress_.phases) {
    if (each->steps() == 0) continue;
    const bool infills = each->stage() == Stage::kInfilling;
    if (is_before || (each->name() == phase && infills)) return infills;
    is_before = each->name() == phase && name == phase;
  }
  return false;
}

bool RunEvaluator::can_infill(const Task& task) const {
  const DecodingSettings& decoding = parts_.settings.evaluation.decoding;
  return task.has_scaffold() &&
         fits(make_prompt(task, Stage::kInfilling, parts_.settings.tasks.prompt_style, decoding.scaffold),
              parts_.tokenizer, parts_.policy.config(), decoding);
}

std::optional<HeldOutFigures> RunEvaluator::infilling(const std::string& name) {
  const Stopwatch watch;
  std::vector<Task> tasks;
  for (const Task& task : parts_.tasks.held_out)
    if (std::ssize(tasks) < parts_.settings.evaluation.infilling_tasks && can_infill(task))
      tasks.push_back(task);
  if (tasks.empty()) return HeldOutFigures{};
  const TaskScores scores =
      score_and_keep(concat(name, "_as_infilling"), tasks,
                     {.stage = Stage::kInfilling, .decoding = parts_.settings.evaluation.decoding});
  if (scores.interrupted) return std::nullopt;
  require_verdicts(name, scores);
  return held_out_figures(scores, watch.seconds());
}

void RunEvaluator::require_verdicts(const std::string& name, const TaskScores& scores) const {
  const std::string problem = unverified_problem(scores.unverified, parts_.settings.max_unverified_share);
  if (problem.empty()) return;
  throw SharedError(concat("evaluation ", moment_of(name), ": ", problem, " (run.max_unverified_share is ",
                           parts_.settings.max_unverified_share, "): ", scores.unverified_reason,
                           "\nWhat was learnt is saved; the same command evaluates it again."));
}

bool RunEvaluator::add_other_figures(EvaluationResult& result) {
  const std::string& name = result.phase;
  if (measures_infilling(name)) {
    result.infilling = infilling(name);
    if (!result.infilling) return false;
    if (result.infilling->tasks == 0) result.infilling.reset();
  }
  if (measures_best_of(name) && !parts_.tasks.held_out.empty()) {
    result.best_of = best_of_samples(name);
    if (!result.best_of) return false;
  }
  return true;
}

bool RunEvaluator::evaluate(const std::string& name) {
  if (on_any_rank(parts_.control, parts_.stop_requested())) return false;
  const Stopwatch watch;
  parts_.bring_weights();
  leave_out_held_out();
  const TaskScores scores =
      score_and_keep(name, parts_.tasks.held_out, {.decoding = parts_.settings.evaluation.decoding});
  if (scores.interrupted) return false;
  leave_out_invalid(scores);
  require_verdicts(name, scores);
  EvaluationResult result;
  static_cast<HeldOutFigures&>(result) = held_out_figures(scores, watch.seconds());
  result.phase = name;
  if (is_rewarded()) result.reward_basis = StageRewards::basis(reward());
  if (!add_other_figures(result)) return false;
  progress_.state.evaluations.push_back(result);
  if (parts_.log) parts_.log->evaluation(result, progress_.run_step());
  if (parts_.directory)
    log_info(moment_of(name), " (", clock_text(progress_.state.seconds_in_phase),
             "): ", std::lround(1000 * result.correct_rate) / 10.0, " % of ", result.tasks,
             " held-out tasks correct, ", std::lround(1000 * result.compile_rate) / 10.0,
             " % compile (evaluation ", clock_text(result.seconds), ")");
  return true;
}

void RunEvaluator::print_end(const CheckpointStore& checkpoints) const {
  if (!progress_.state.evaluations.empty()) {
    std::cout << "\n" << evaluation_table(progress_.state.evaluations, parts_.rewards.clock());
    print_program_pair();
  }
  std::cout << "\n" << best_and_newest(checkpoints) << std::endl;
}

void RunEvaluator::print_program_pair() const {
  const auto timed =
      std::ranges::any_of(progress_.state.evaluations, [](const auto& e) { return e.timed > 0; });
  const std::string before(parts_.settings.warm_up.steps > 0 ? kWarmUpPhase : kStartEvaluation),
      after = progress_.last_phase();
  if (!timed || before == after || !has_result(before) || !has_result(after)) return;
  try {
    const fs::path folder = parts_.directory->path() / kEvaluations;
    const auto pair = choose_program_pair(read_evaluated_responses(folder / (before + ".jsonl")),
                                          read_evaluated_responses(folder / (after + ".jsonl")));
    std::cout << "\n" << program_pair_text(pair, moment_of(before), moment_of(after));
  } catch (const Error& error) {  // somebody removed the file; the run has ended all the same
    log_warning("no program is shown: ", error.what());
  }
}

std::string RunEvaluator::best_and_newest(const CheckpointStore& checkpoints) const {
  const fs::path folder = parts_.directory->path() / "checkpoints";
  const auto described = [&](const std::string& name) {
    for (const EvaluationResult& result : progress_.state.evaluations)
      if (result.phase == name && parts_.settings.best_metric != BestMetric::kNone)
        return concat((folder / name).string(), " (", metric_text(result, parts_.settings.best_metric), ")");
    return (folder / name).string();
  };
  const std::string best = checkpoints.best_name(), newest = checkpoints.newest_name();
  if (best == newest) return concat("newest and best checkpoint: ", described(best));
  return concat("best checkpoint: ", described(best), "\nnewest checkpoint: ", described(newest));
}

void RunEvaluator::leave_out_invalid(const TaskScores& scores) {
  for (size_t i = 0; i < scores.tasks.size(); ++i) {
    const std::string& reason = scores.tasks[i].invalid_task;
    if (reason.empty()) continue;
    const std::string left_out = parts_.curation.note_fault(parts_.tasks.held_out[i].id, reason);
    if (parts_.directory && !left_out.empty()) log_warning("held-out ", left_out);
  }
  leave_out_held_out();
}

void RunEvaluator::leave_out_held_out() {
  std::erase_if(parts_.tasks.held_out, [&](const Task& task) { return parts_.curation.at_fault(task.id); });
}

}  // namespace bicrl
