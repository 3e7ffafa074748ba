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
#include "trainer/run/reports/run_log.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr const char* kEvaluations = "evaluations";

}  // namespace

RunEvaluator::RunEvaluator(const RunContext& context, RunProgress& progress)
    : context_(context), progress_(progress) {
  std::vector<Task>& held_out = context_.tasks.held_out;
  const auto wanted = static_cast<size_t>(context_.settings.evaluation.tasks);
  if (wanted == 0) held_out.clear();
  if (evaluates()) {
    open_folder();
    keep_what_fits();
  }
  if (held_out.size() > wanted) held_out.resize(wanted);
  leave_out_held_out();
}

void RunEvaluator::keep_what_fits() {
  const RunSettings& settings = context_.settings;
  const std::string left_out =
      keep_fitting(context_.tasks.held_out, "held-out tasks",
                   {Stage::kEndToEnd, settings.tasks.prompt_style, settings.evaluation.decoding},
                   context_.tokenizer, context_.policy.config());
  if (!left_out.empty() && context_.control.rank() == 0) log_warning(left_out);
}

const RewardFunction& RunEvaluator::reward() const {
  const RewardFunction* of_phase = progress_.phase().reward();
  return of_phase ? *of_phase : context_.rewards.first();
}

bool RunEvaluator::evaluates() const {
  return context_.verifier && context_.settings.replay.updates() && !context_.tasks.held_out.empty();
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
  return best_of_all(progress_.state.evaluations, context_.settings.best_metric) ==
         &progress_.state.evaluations.back();
}

void RunEvaluator::open_folder() {
  on_rank_zero(context_.control, [&] {
    if (!context_.directory) return;
    const fs::path folder = context_.directory->path() / kEvaluations;
    std::error_code failure;
    fs::create_directories(folder, failure);
    if (failure) throw Error(concat("cannot create ", folder.string(), ": ", failure.message()));
    check_writable((folder / "responses.jsonl").string());
  });
}

TaskScores RunEvaluator::score_and_keep(const std::string& file, const std::vector<Task>& tasks,
                                        ScoringSettings settings) {
  settings.prompt_style = context_.settings.tasks.prompt_style;
  settings.keep = KeptResponses::kEvaluated;
  settings.reward = is_rewarded() ? &reward() : nullptr;
  settings.quarantine = &context_.curation.quarantine();
  settings.stop_requested = context_.stop_requested;
  TaskScores scores = score_tasks(context_.engine, *context_.verifier, context_.ledger, context_.control,
                                  context_.placement, tasks, settings);
  if (context_.placement.trains(context_.control.rank())) context_.engine.release_memory();
  if (scores.interrupted) return scores;
  on_rank_zero(context_.control, [&] {
    if (context_.directory)
      context_.directory->write(concat(kEvaluations, "/", file, ".jsonl"), scores.responses);
  });
  return scores;
}

bool RunEvaluator::measures_best_of(const std::string& name) const {
  const BestOfSettings& best = context_.settings.evaluation.best_of;
  return best.tasks > 0 && (name == progress_.last_phase() || (best.after_warm_up && name == kWarmUpPhase));
}

std::optional<BestOf> RunEvaluator::best_of_samples(const std::string& name) {
  const BestOfSettings& best = context_.settings.evaluation.best_of;
  const Stopwatch watch;
  const auto end =
      context_.tasks.held_out.begin() + std::min(best.tasks, std::ssize(context_.tasks.held_out));
  const TaskScores scores = score_and_keep(concat(name, "_best_of"), {context_.tasks.held_out.begin(), end},
                                           {.decoding = best.decoding,
                                            .samples_per_task = best.samples,
                                            .key = mix_key(context_.settings.seed, "best_of")});
  if (scores.interrupted) return std::nullopt;
  return best_of(scores, best.samples, watch.seconds());
}

bool RunEvaluator::measures_infilling(const std::string& name) const {
  if (context_.settings.evaluation.infilling_tasks == 0) return false;
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
  const DecodingSettings& decoding = context_.settings.evaluation.decoding;
  return task.has_scaffold() &&
         fits(make_prompt(task, Stage::kInfilling, context_.settings.tasks.prompt_style, decoding.scaffold),
              context_.tokenizer, context_.policy.config(), decoding);
}

std::optional<HeldOutFigures> RunEvaluator::infilling(const std::string& name) {
  const Stopwatch watch;
  std::vector<Task> tasks;
  for (const Task& task : context_.tasks.held_out)
    if (std::ssize(tasks) < context_.settings.evaluation.infilling_tasks && can_infill(task))
      tasks.push_back(task);
  if (tasks.empty()) return HeldOutFigures{};
  const TaskScores scores =
      score_and_keep(concat(name, "_as_infilling"), tasks,
                     {.stage = Stage::kInfilling, .decoding = context_.settings.evaluation.decoding});
  if (scores.interrupted) return std::nullopt;
  require_verdicts(name, scores);
  return held_out_figures(scores, watch.seconds());
}

void RunEvaluator::require_verdicts(const std::string& name, const TaskScores& scores) const {
  const std::string problem = unverified_problem(scores.unverified, context_.settings.max_unverified_share);
  if (problem.empty()) return;
  throw SharedError(concat("evaluation ", moment_of(name), ": ", problem, " (run.max_unverified_share is ",
                           context_.settings.max_unverified_share, "): ", scores.unverified_reason,
                           "\nWhat was learnt is saved; the same command evaluates it again."));
}

bool RunEvaluator::add_other_figures(EvaluationResult& result) {
  const std::string& name = result.phase;
  if (measures_infilling(name)) {
    result.infilling = infilling(name);
    if (!result.infilling) return false;
    if (result.infilling->tasks == 0) result.infilling.reset();
  }
  if (measures_best_of(name) && !context_.tasks.held_out.empty()) {
    result.best_of = best_of_samples(name);
    if (!result.best_of) return false;
  }
  return true;
}

bool RunEvaluator::evaluate(const std::string& name) {
  if (on_any_rank(context_.control, context_.stop_requested())) return false;
  const Stopwatch watch;
  context_.bring_weights();
  leave_out_held_out();
  const TaskScores scores =
      score_and_keep(name, context_.tasks.held_out, {.decoding = context_.settings.evaluation.decoding});
  if (scores.interrupted) return false;
  leave_out_invalid(scores);
  require_verdicts(name, scores);
  EvaluationResult result;
  static_cast<HeldOutFigures&>(result) = held_out_figures(scores, watch.seconds());
  result.phase = name;
  if (is_rewarded()) result.reward_basis = StageRewards::basis(reward());
  if (!add_other_figures(result)) return false;
  progress_.state.evaluations.push_back(result);
  if (context_.log) context_.log->evaluation(result, progress_.run_step());
  if (context_.directory)
    log_info(moment_of(name), " (", clock_text(progress_.state.seconds_in_phase),
             "): ", std::lround(1000 * result.correct_rate) / 10.0, " % of ", result.tasks,
             " held-out tasks correct, ", std::lround(1000 * result.compile_rate) / 10.0,
             " % compile (evaluation ", clock_text(result.seconds), ")");
  return true;
}

void RunEvaluator::print_end(const CheckpointStore& checkpoints) const {
  if (!progress_.state.evaluations.empty()) {
    std::cout << "\n" << evaluation_table(progress_.state.evaluations, context_.rewards.clock());
    print_program_pair();
  }
  std::cout << "\n" << best_and_newest(checkpoints) << std::endl;
}

void RunEvaluator::print_program_pair() const {
  const auto timed =
      std::ranges::any_of(progress_.state.evaluations, [](const auto& e) { return e.timed > 0; });
  const std::string before(context_.settings.warm_up.steps > 0 ? kWarmUpPhase : kStartEvaluation),
      after = progress_.last_phase();
  if (!timed || before == after || !has_result(before) || !has_result(after)) return;
  try {
    const fs::path folder = context_.directory->path() / kEvaluations;
    const auto pair = choose_program_pair(read_evaluated_responses(folder / (before + ".jsonl")),
                                          read_evaluated_responses(folder / (after + ".jsonl")));
    std::cout << "\n" << program_pair_text(pair, moment_of(before), moment_of(after));
  } catch (const Error& error) {  // somebody removed the file; the run has ended all the same
    log_warning("no program is shown: ", error.what());
  }
}

std::string RunEvaluator::best_and_newest(const CheckpointStore& checkpoints) const {
  const fs::path folder = context_.directory->path() / "checkpoints";
  const auto described = [&](const std::string& name) {
    for (const EvaluationResult& result : progress_.state.evaluations)
      if (result.phase == name && context_.settings.best_metric != BestMetric::kNone)
        return concat((folder / name).string(), " (", metric_text(result, context_.settings.best_metric),
                      ")");
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
    const std::string left_out = context_.curation.note_invalid_task(context_.tasks.held_out[i].id, reason);
    if (context_.directory && !left_out.empty()) log_warning("held-out ", left_out);
  }
  leave_out_held_out();
}

void RunEvaluator::leave_out_held_out() {
  std::erase_if(context_.tasks.held_out,
                [&](const Task& task) { return context_.curation.is_invalid(task.id); });
}

}  // namespace bicrl
