#include "trainer/evaluation/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "tasks/verdict.h"

namespace bicrl {

EvaluationResult evaluation_result(const std::string& phase, const TaskScores& scores, double seconds) {
  TaskScore sum;
  int64_t at_fault = 0;
  for (const TaskScore& task : scores.tasks) {
    at_fault += !task.task_fault.empty();
    sum.verified += task.verified;
    sum.compiled += task.compiled;
    sum.correct += task.correct;
    sum.truncated += task.truncated;
    sum.unverified += task.unverified;
    sum.timed += task.timed;
    sum.fast_1 += task.fast_1;
    sum.fast_2 += task.fast_2;
    sum.unshown += task.unshown;
    sum.log_speedup += task.log_speedup;
    for (const auto& [name, number] : task.fault_classes) sum.fault_classes[name] += number;
  }
  const auto rate = [&](int64_t part) {
    return sum.verified > 0 ? static_cast<double>(part) / static_cast<double>(sum.verified) : 0.0;
  };
  return {.phase = phase,
          .tasks = static_cast<int64_t>(scores.tasks.size()) - at_fault,
          .compile_rate = rate(sum.compiled),
          .correct_rate = rate(sum.correct),
          .truncated_rate = rate(sum.truncated),
          .timed = sum.timed,
          .geomean_speedup = sum.timed > 0 ? std::exp(sum.log_speedup / static_cast<double>(sum.timed)) : 0.0,
          .fast_1 = rate(sum.fast_1),
          .fast_2 = rate(sum.fast_2),
          .unshown_rate = rate(sum.unshown),
          .unverified = sum.unverified,
          .unverified_reason = scores.unverified_reason,
          .fault_classes = std::move(sum.fault_classes),
          .seconds = seconds};
}

BestOf best_of(const TaskScores& scores, int64_t samples, double seconds) {
  BestOf best{.samples = samples, .seconds = seconds};
  int64_t correct = 0, fast_1 = 0, fast_2 = 0;
  double log_speedup = 0;
  for (const TaskScore& task : scores.tasks) {
    if (task.verified == 0) continue;
    ++best.tasks;
    correct += task.correct > 0;
    best.timed += task.timed > 0;
    fast_1 += task.fast_1 > 0;
    fast_2 += task.fast_2 > 0;
    if (task.timed > 0) log_speedup += task.best_log_speedup;
  }
  if (best.tasks == 0) return best;
  const auto tasks = static_cast<double>(best.tasks);
  best.correct_rate = static_cast<double>(correct) / tasks;
  best.fast_1 = static_cast<double>(fast_1) / tasks;
  best.fast_2 = static_cast<double>(fast_2) / tasks;
  if (best.timed > 0) best.geomean_speedup = std::exp(log_speedup / static_cast<double>(best.timed));
  return best;
}

std::string moment_of(const std::string& phase) {
  if (phase == kStartEvaluation) return "at the start";
  const size_t step = phase.find('-');
  return step == std::string::npos
             ? "after " + phase
             : concat(phase.substr(0, step), ", step ", std::strtol(phase.c_str() + step + 1, nullptr, 10));
}

nlohmann::json to_json(const EvaluationResult& r) {
  nlohmann::json json = {{"tasks", r.tasks},
                         {"compile_rate", r.compile_rate},
                         {"correct_rate", r.correct_rate},
                         {"truncated_rate", r.truncated_rate},
                         {"timed", r.timed},
                         {"geomean_speedup", r.geomean_speedup},
                         {"fast_1", r.fast_1},
                         {"fast_2", r.fast_2},
                         {"unshown_rate", r.unshown_rate},
                         {"unverified", r.unverified},
                         {"fault_classes", r.fault_classes},
                         {"seconds", r.seconds}};
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

EvaluationResult evaluation_from_json(const nlohmann::json& json) {
  EvaluationResult r;
  r.tasks = json.at("tasks").get<int64_t>();
  r.compile_rate = json.at("compile_rate").get<double>();
  r.correct_rate = json.at("correct_rate").get<double>();
  r.truncated_rate = json.at("truncated_rate").get<double>();
  r.timed = json.value("timed", int64_t{0});  // runs that began before speed was evaluated have none
  r.geomean_speedup = json.value("geomean_speedup", 0.0);
  r.fast_1 = json.value("fast_1", 0.0);
  r.fast_2 = json.value("fast_2", 0.0);
  r.unshown_rate = json.value("unshown_rate", 0.0);
  r.unverified = json.at("unverified").get<int64_t>();
  r.fault_classes = json.at("fault_classes").get<std::map<std::string, int64_t>>();
  r.seconds = json.at("seconds").get<double>();
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

namespace {

std::string best_of_table(const std::vector<EvaluationResult>& results, bool timed) {
  std::string table;
  int64_t samples = 0;
  for (const EvaluationResult& r : results) {
    if (!r.best_of) continue;
    char line[200];
    if (table.empty()) {
      samples = r.best_of->samples;
      snprintf(line, sizeof line, "%-26s tasks           correct%s\n",
               concat("best of ", samples, " samples").c_str(),
               timed ? "           speed-up  fast_1   fast_2" : "");
      table += line;
    }
    snprintf(line, sizeof line, "%-26s %5lld           %5.1f %%", moment_of(r.phase).c_str(),
             static_cast<long long>(r.best_of->tasks), 100 * r.best_of->correct_rate);
    table += line;
    if (timed) {
      snprintf(line, sizeof line, "            %5.2fx  %5.1f %%  %5.1f %%", r.best_of->geomean_speedup,
               100 * r.best_of->fast_1, 100 * r.best_of->fast_2);
      table += line;
    }
    table += "\n";
  }
  return table;
}

}  // namespace

std::string evaluation_table(const std::vector<EvaluationResult>& results, const std::string& clock) {
  const bool timed = std::ranges::any_of(results, [](const auto& r) { return r.timed > 0; });
  std::string table = "held-out tasks, greedy     tasks  compile  correct   change";
  // Speed-ups are those of the correct programs, fast_p shares of all tasks.
  if (timed) table += "  speed-up  fast_1   fast_2";
  // Programs of synthesised tasks that compute as none of the known ones does.
  const bool unshown = std::ranges::any_of(results, [](const auto& r) { return r.unshown_rate > 0; });
  if (unshown) table += "  new ways";
  table += "\n";
  for (size_t i = 0; i < results.size(); ++i) {
    const EvaluationResult& r = results[i];
    char line[200];
    snprintf(line, sizeof line, "%-26s %5lld  %5.1f %%  %5.1f %%", moment_of(r.phase).c_str(),
             static_cast<long long>(r.tasks), 100 * r.compile_rate, 100 * r.correct_rate);
    table += line;
    if (i > 0)
      snprintf(line, sizeof line, "   %+5.1f", 100 * (r.correct_rate - results[i - 1].correct_rate));
    else
      snprintf(line, sizeof line, "%s", timed ? "        " : "");
    table += line;
    if (timed) {
      snprintf(line, sizeof line, "    %5.2fx  %5.1f %%  %5.1f %%", r.geomean_speedup, 100 * r.fast_1,
               100 * r.fast_2);
      table += line;
    }
    if (unshown) {
      snprintf(line, sizeof line, "   %5.1f %%", 100 * r.unshown_rate);
      table += line;
    }
    if (r.unverified > 0) table += concat("   (", r.unverified, " without a verdict)");
    table += "\n";
  }
  table += best_of_table(results, timed);
  if (timed && clock == kModelClock)
    table +=
        "(speed-ups over eager PyTorch are modelled: geometric means over the correct; fast_p are shares of "
        "all)\n";
  return table;
}

}  // namespace bicrl
