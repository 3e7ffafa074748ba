#include "trainer/evaluation/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "verdict/verdict.h"

namespace bicrl {

namespace {

// Of so many values with this sum and this sum of squares.
double deviation_of(double count, double sum, double squares) {
  if (count == 0) return 0;
  const double mean = sum / count;
  return std::sqrt(std::max(0.0, squares / count - mean * mean));
}

double rate(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

double geomean_speedup(const TaskScore& sum) {
  return sum.timed > 0 ? std::exp(sum.log_speedup / static_cast<double>(sum.timed)) : 0;
}

// A task's score as if its best response were the only one.
TaskScore best_response(const TaskScore& task) {
  TaskScore best;
  if (task.verified == 0) return best;
  best.verified = 1;
  best.correct = task.correct > 0;
  best.timed = task.timed > 0;
  best.fast_1 = task.fast_1 > 0;
  best.fast_2 = task.fast_2 > 0;
  if (task.timed > 0) best.log_speedup = task.best_log_speedup;
  return best;
}

}  // namespace

HeldOutFigures held_out_figures(const TaskScores& scores, double seconds) {
  TaskScore sum;
  int64_t invalid = 0;
  for (const TaskScore& task : scores.tasks) {
    invalid += !task.invalid_task.empty();
    sum += task;
  }
  HeldOutFigures f;
  f.tasks = static_cast<int64_t>(scores.tasks.size()) - invalid;
  f.compile_rate = rate(sum.compiled, sum.verified);
  f.correct_rate = rate(sum.correct, sum.verified);
  f.truncated_rate = rate(sum.truncated, sum.verified);
  f.timed = sum.timed;
  f.geomean_speedup = geomean_speedup(sum);
  f.log_speedup_spread =
      deviation_of(static_cast<double>(sum.timed), sum.log_speedup, sum.log_speedup_squares);
  f.fast_1 = rate(sum.fast_1, sum.verified);
  f.fast_2 = rate(sum.fast_2, sum.verified);
  f.novel_rate = rate(sum.novel, sum.verified);
  f.rewarded = sum.rewarded;
  if (const auto rewarded = static_cast<double>(sum.rewarded); sum.rewarded > 0) {
    f.reward_mean = sum.reward / rewarded;
    f.reward_spread = deviation_of(rewarded, sum.reward, sum.reward_squares);
  }
  f.unverified = sum.unverified;
  f.undecided = sum.undecided;
  f.unverified_reason = scores.unverified_reason;
  f.fault_classes = std::move(sum.fault_classes);
  f.seconds = seconds;
  return f;
}

BestOf best_of(const TaskScores& scores, int64_t samples, double seconds) {
  TaskScore sum;
  for (const TaskScore& task : scores.tasks) sum += best_response(task);
  return {.tasks = sum.verified,
          .samples = samples,
          .correct_rate = rate(sum.correct, sum.verified),
          .timed = sum.timed,
          .geomean_speedup = geomean_speedup(sum),
          .fast_1 = rate(sum.fast_1, sum.verified),
          .fast_2 = rate(sum.fast_2, sum.verified),
          .seconds = seconds};
}

std::string moment_of(const std::string& phase) {
  if (phase == kStartEvaluation) return "at the start";
  const size_t step = phase.find('-');
  return step == std::string::npos
             ? "after " + phase
             : concat(phase.substr(0, step), ", step ", std::strtol(phase.c_str() + step + 1, nullptr, 10));
}

nlohmann::json to_json(const HeldOutFigures& f) {
  nlohmann::json json = {{"tasks", f.tasks},
                         {"compile_rate", f.compile_rate},
                         {"correct_rate", f.correct_rate},
                         {"truncated_rate", f.truncated_rate},
                         {"timed", f.timed},
                         {"geomean_speedup", f.geomean_speedup},
                         {"log_speedup_spread", f.log_speedup_spread},
                         {"fast_1", f.fast_1},
                         {"fast_2", f.fast_2},
                         {"novel_rate", f.novel_rate},
                         {"unverified", f.unverified},
                         {"fault_classes", f.fault_classes},
                         {"seconds", f.seconds}};
  if (f.undecided > 0) json["undecided"] = f.undecided;
  if (f.rewarded > 0)
    json.update(
        {{"rewarded", f.rewarded}, {"reward_mean", f.reward_mean}, {"reward_spread", f.reward_spread}});
  return json;
}

nlohmann::json to_json(const EvaluationResult& r) {
  nlohmann::json json = to_json(static_cast<const HeldOutFigures&>(r));
  if (!r.reward_basis.empty()) json["reward_basis"] = r.reward_basis;
  if (r.infilling) json["infilling"] = to_json(*r.infilling);
  if (const auto& best = r.best_of)
    json["best_of"] = {{"tasks", best->tasks},
                       {"samples", best->samples},
                       {"correct_rate", best->correct_rate},
                       {"timed", best->timed},
                       {"geomean_speedup", best->geomean_speedup},
                       {"fast_1", best->fast_1},
                       {"fast_2", best->fast_2},
                       {"seconds", best->seconds}};
  return json;
}

namespace {

// Runs that began before something was evaluated do not have it.
void read_figures(const nlohmann::json& json, HeldOutFigures& f) {
  f.tasks = json.at("tasks").get<int64_t>();
  f.compile_rate = json.at("compile_rate").get<double>();
  f.correct_rate = json.at("correct_rate").get<double>();
  f.truncated_rate = json.at("truncated_rate").get<double>();
  f.timed = json.value("timed", int64_t{0});
  f.geomean_speedup = json.value("geomean_speedup", 0.0);
  f.log_speedup_spread = json.value("log_speedup_spread", 0.0);
  f.fast_1 = json.value("fast_1", 0.0);
  f.fast_2 = json.value("fast_2", 0.0);
  f.novel_rate = json.value("novel_rate", 0.0);
  f.rewarded = json.value("rewarded", int64_t{0});
  f.reward_mean = json.value("reward_mean", 0.0);
  f.reward_spread = json.value("reward_spread", 0.0);
  f.unverified = json.at("unverified").get<int64_t>();
  f.undecided = json.value("undecided", int64_t{0});
  f.fault_classes = json.at("fault_classes").get<std::map<std::string, int64_t>>();
  f.seconds = json.at("seconds").get<double>();
}

}  // namespace

EvaluationResult evaluation_from_json(const nlohmann::json& json) {
  EvaluationResult r;
  read_figures(json, r);
  r.reward_basis = json.value("reward_basis", "");
  if (const auto infilling = json.find("infilling"); infilling != json.end())
    read_figures(*infilling, r.infilling.emplace());
  const auto best = json.find("best_of");
  if (best == json.end()) return r;
  r.best_of = BestOf{.tasks = best->at("tasks"),
                     .samples = best->at("samples"),
                     .correct_rate = best->at("correct_rate"),
                     .timed = best->at("timed"),
                     .geomean_speedup = best->at("geomean_speedup"),
                     .fast_1 = best->at("fast_1"),
                     .fast_2 = best->at("fast_2"),
                     .seconds = best->at("seconds")};
  return r;
}

}  // namespace bicrl
