#include "trainer/evaluation/eval_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/error.h"
#include "tasks/synthetic/synthetic_operators.h"

namespace bicrl {
namespace {

// Part of the figures' definition: the same scores give the same intervals everywhere.
constexpr uint64_t kBootstrapSeed = 20210707;

using Scores = std::vector<const TaskScore*>;

const char* name_of(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kPointwise:
      return "elementwise";
    case OperatorKind::kRowVector:
      return "broadcast";
    case OperatorKind::kReduction:
      return "reduction";
    case OperatorKind::kSoftmax:
      return "softmax";
    case OperatorKind::kStencil:
      return "stencil";
  }
  return "";
}

// The mean over tasks of `value`; tasks with fewer than `least` verified responses are left out.
Estimate estimate(const Scores& scores, int64_t least, const std::function<double(const TaskScore&)>& value,
                  const IntervalSettings& intervals) {
  std::vector<double> values;
  bool trials = true;  // every value is one response's
  for (const TaskScore* score : scores) {
    if (score->verified < least) continue;
    values.push_back(value(*score));
    trials &= score->verified + score->unverified + score->undecided == 1;
  }
  Estimate e;
  e.tasks = static_cast<int64_t>(values.size());
  if (values.empty()) return e;
  e.value = mean_of(values);
  // Resampling tasks that all have one value would call the rate certain.
  const bool equal = std::all_of(values.begin(), values.end(), [&](double v) { return v == values[0]; });
  e.interval =
      trials || equal
          ? wilson_interval(std::accumulate(values.begin(), values.end(), 0.0), e.tasks, intervals.confidence)
          : bootstrap_interval(values, intervals.confidence, intervals.resamples, kBootstrapSeed);
  return e;
}

// The geometric mean of speed-ups, `value` being a task's logarithm. Tasks without a timed program are left
// out.
Estimate geometric_mean(const Scores& scores, const std::function<double(const TaskScore&)>& value,
                        const IntervalSettings& intervals) {
  std::vector<double> values;
  for (const TaskScore* score : scores)
    if (score->timed > 0) values.push_back(value(*score));
  Estimate e;
  e.tasks = static_cast<int64_t>(values.size());
  if (values.empty()) return e;
  const Interval logarithms =
      bootstrap_interval(values, intervals.confidence, intervals.resamples, kBootstrapSeed);
  e.value = std::exp(mean_of(values));
  e.interval = {std::exp(logarithms.low), std::exp(logarithms.high)};
  return e;
}

ClassReport report_on(const std::string& name, const Scores& scores, const IntervalSettings& intervals) {
  const auto share = [](int64_t TaskScore::*part) {
    return [part](const TaskScore& score) {
      return static_cast<double>(score.*part) / static_cast<double>(score.verified);
    };
  };
  ClassReport report;
  report.name = name;
  report.tasks = static_cast<int64_t>(scores.size());
  for (const TaskScore* score : scores) report.verified += score->verified;
  report.compile = estimate(scores, 1, share(&TaskScore::compiled), intervals);
  report.correct = estimate(scores, 1, share(&TaskScore::correct), intervals);
  report.speedup = geometric_mean(
      scores, [](const TaskScore& s) { return s.log_speedup / static_cast<double>(s.timed); }, intervals);
  report.best_speedup = geometric_mean(
      scores, [](const TaskScore& s) { return s.best_log_speedup; }, intervals);
  if (report.speedup.tasks == 0) return report;
  report.fast_1 = estimate(scores, 1, share(&TaskScore::fast_1), intervals);
  report.fast_2 = estimate(scores, 1, share(&TaskScore::fast_2), intervals);
  return report;
}

std::string text_of(const Estimate& estimate) {
  if (estimate.tasks == 0) return "    -                 ";
  char text[64];
  snprintf(text, sizeof text, "%5.1f %% [%5.1f, %5.1f]", 100 * estimate.value, 100 * estimate.interval.low,
           100 * estimate.interval.high);
  return text;
}

// For example "1.52x [1.40, 1.63]".
std::string factor_text(const Estimate& estimate) {
  char text[64];
  snprintf(text, sizeof text, "%.2fx [%.2f, %.2f]", estimate.value, estimate.interval.low,
           estimate.interval.high);
  return text;
}

std::string speed_lines(const ClassReport& all) {
  if (all.speedup.tasks == 0) return {};
  std::string lines = concat("fast_1        ", text_of(all.fast_1), "\nfast_2        ", text_of(all.fast_2),
                             "\nspeed-up      ", factor_text(all.speedup), " over the ", all.speedup.tasks,
                             " tasks with a correct program, geometric mean\n");
  if (all.verified > all.tasks)
    lines += concat("of the fastest ", factor_text(all.best_speedup), " over the same tasks\n");
  return lines;
}

std::string row_of(const ClassReport& report) {
  char text[200];
  snprintf(text, sizeof text, "%-14s %7lld %10lld   %-24s %s", report.name.c_str(),
           static_cast<long long>(report.tasks), static_cast<long long>(report.verified),
           text_of(report.compile).c_str(), text_of(report.correct).c_str());
  std::string row = text;
  row.erase(row.find_last_not_of(' ') + 1);
  return row + "\n";
}

nlohmann::json json_of(const Estimate& estimate) {
  if (estimate.tasks == 0) return {{"tasks", 0}, {"value", nullptr}, {"low", nullptr}, {"high", nullptr}};
  return {{"tasks", estimate.tasks},
          {"value", estimate.value},
          {"low", estimate.interval.low},
          {"high", estimate.interval.high}};
}

nlohmann::json json_of(const ClassReport& report) {
  return {{"tasks", report.tasks},
          {"verified", report.verified},
          {"compile", json_of(report.compile)},
          {"correct", json_of(report.correct)},
          {"speedup", json_of(report.speedup)},
          {"best_speedup", json_of(report.best_speedup)},
          {"fast_1", json_of(report.fast_1)},
          {"fast_2", json_of(report.fast_2)}};
}

}  // namespace

std::string family_of(const std::vector<std::string>& composition) {
  if (composition.empty()) return "";
  OperatorKind family = OperatorKind::kPointwise;
  for (const std::string& name : composition) {
    const auto& known = synthetic_operators();
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const auto& op) { return op.name == name; });
    if (found == known.end()) return "other";
    if (found->kind != OperatorKind::kPointwise) family = found->kind;
  }
  return name_of(family);
}

EvalReport make_eval_report(const std::vector<Task>& tasks, const std::vector<TaskScore>& scores,
                            const std::vector<int64_t>& ks, const IntervalSettings& intervals) {
  BICRL_CHECK(tasks.size() == scores.size(), tasks.size(), " tasks, ", scores.size(), " scores");
  Scores all;
  std::map<int, Scores> levels;
  std::map<std::string, Scores> families;
  EvalReport report;
  report.confidence = intervals.confidence;
  TaskScore sum;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const TaskScore& score = scores[i];
    if (!score.invalid_task.empty()) {
      ++report.invalid_tasks;
      continue;
    }
    all.push_back(&score);
    levels[tasks[i].level].push_back(&score);
    if (const std::string family = family_of(tasks[i].composition); !family.empty())
      families[family].push_back(&score);
    sum += score;
  }
  report.responses = sum.verified + sum.unverified + sum.undecided;
  report.unverified = sum.unverified;
  report.undecided = sum.undecided;
  report.truncated = sum.truncated;
  report.reduced = sum.reduced;
  report.fault_classes = std::move(sum.fault_classes);
  report.all = report_on("all", all, intervals);
  for (const auto& [level, members] : levels)
    report.levels.push_back(report_on(concat("level ", level), members, intervals));
  for (const auto& [family, members] : families)
    report.families.push_back(report_on(family, members, intervals));
  for (const int64_t k : ks)
    report.pass_at_k[k] = estimate(
        all, k, [k](const TaskScore& score) { return pass_at_k(score.verified, score.correct, k); },
        intervals);
  return report;
}

std::string eval_table(const EvalReport& report) {
  std::string table =
      "                 tasks  responses   compile                  correct\n" + row_of(report.all);
  // A single class would repeat the line of all.
  for (const auto* classes : {&report.levels, &report.families})
    if (classes->size() > 1)
      for (const ClassReport& entry : *classes) table += row_of(entry);
  table += "\n";
  for (const auto& [k, estimate] : report.pass_at_k) {
    char text[100];
    snprintf(text, sizeof text, "pass@%-6lld %s", static_cast<long long>(k), text_of(estimate).c_str());
    table += text;
    if (estimate.tasks < report.all.tasks)
      table += concat("  over the ", estimate.tasks, " tasks with at least ", k, " verdicts");
    table += "\n";
  }
  table += speed_lines(report.all);
  table += concat("in brackets: intervals of ", 100 * report.confidence, " % confidence\n");
  std::vector<std::pair<std::string, int64_t>> faults(report.fault_classes.begin(),
                                                      report.fault_classes.end());
  std::stable_sort(faults.begin(), faults.end(), [](auto& a, auto& b) { return a.second > b.second; });
  for (size_t i = 0; i < faults.size(); ++i)
    table += concat(i == 0 ? "faults: " : ", ", faults[i].first, " ", faults[i].second);
  if (!faults.empty()) table += "\n";
  if (report.reduced > 0)
    table += concat(report.reduced, " of ", report.responses - report.unverified - report.undecided,
                    " graded at reduced sizes\n");
  if (report.truncated > 0) table += concat(report.truncated, " responses were cut off by the token limit\n");
  if (report.unverified > 0)
    table += concat(report.unverified, " of ", report.responses,
                    " responses got no verdict through the verifier's fault and are left out\n");
  if (report.undecided > 0)
    table += concat(report.undecided, " of ", report.responses,
                    " responses cannot be graded here, right or wrong, and are left out\n");
  if (report.invalid_tasks > 0)
    table += concat(report.invalid_tasks, " tasks can never be graded and are left out\n");
  return table;
}

nlohmann::json to_json(const EvalReport& report) {
  nlohmann::json json = {{"all", json_of(report.all)},
                         {"levels", nlohmann::json::object()},
                         {"families", nlohmann::json::object()},
                         {"pass_at_k", nlohmann::json::object()},
                         {"fault_classes", report.fault_classes},
                         {"responses", report.responses},
                         {"unverified", report.unverified},
                         {"undecided", report.undecided},
                         {"invalid_tasks", report.invalid_tasks},
                         {"truncated", report.truncated},
                         {"reduced", report.reduced},
                         {"confidence", report.confidence}};
  for (const ClassReport& entry : report.levels) json["levels"][entry.name] = json_of(entry);
  for (const ClassReport& entry : report.families) json["families"][entry.name] = json_of(entry);
  for (const auto& [k, estimate] : report.pass_at_k) json["pass_at_k"][std::to_string(k)] = json_of(estimate);
  return json;
}

}  // namespace bicrl
