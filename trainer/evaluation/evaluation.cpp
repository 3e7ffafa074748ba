#include "trainer/evaluation/evaluation.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/clock.h"

namespace bicrl {

EvaluationResult evaluate(const Transformer& policy, const Tokenizer& tokenizer, VerifierClient& verifier,
                          Communicator& communicator, const std::vector<Task>& tasks,
                          PromptStyle prompt_style, const DecodingSettings& decoding,
                          const std::string& phase, VerdictLedger* ledger,
                          const std::function<bool()>& stop_requested) {
  const Stopwatch watch;
  // Whether a response is right does not depend on a run's reward rule.
  const RewardFunction correctness =
      RewardFunction::from_text("rule: binary\ntruncated: score\n", "evaluation");
  ExperienceCollector collector(policy, tokenizer, &verifier, correctness, communicator,
                                {.stage = Stage::kEndToEnd,
                                 .prompt_style = prompt_style,
                                 .decoding = decoding,
                                 .samples_per_task = 1,
                                 .progress = "evaluating",
                                 .ledger = ledger,
                                 .stop_requested = stop_requested});
  std::vector<PromptedTask> all;
  for (const Task& task : tasks) all.push_back({.task = &task, .repair = std::nullopt});
  StepMetrics metrics(phase, 1, 1);
  const CollectedStep step = collector.collect(all, /*key=*/0, /*policy_version=*/0, metrics);
  std::vector<double> sums = {0, 0, 0};
  for (const TaskResult& result : step.results) {
    sums[0] += result.counted;
    sums[1] += result.correct;
    sums[2] += result.compiled;
  }
  communicator.all_reduce(sums, Reduction::kSum);
  return {.phase = phase,
          .tasks = static_cast<int64_t>(tasks.size()),
          .compile_rate = sums[0] > 0 ? sums[2] / sums[0] : 0.0,
          .correct_rate = sums[0] > 0 ? sums[1] / sums[0] : 0.0,
          .truncated_rate = metrics.truncated_rate,
          .unverified = static_cast<int64_t>(tasks.size()) - std::llround(sums[0]),
          .unverified_reason = metrics.infrastructure_reason,
          .cut_short = step.cut_short,
          .fault_classes = metrics.fault_classes,
          .seconds = watch.seconds()};
}

std::string moment_of(const std::string& phase) {
  return phase == kStartEvaluation ? "at the start" : "after " + phase;
}

nlohmann::json to_json(const EvaluationResult& r) {
  return {{"tasks", r.tasks},
          {"compile_rate", r.compile_rate},
          {"correct_rate", r.correct_rate},
          {"truncated_rate", r.truncated_rate},
          {"unverified", r.unverified},
          {"fault_classes", r.fault_classes},
          {"seconds", r.seconds}};
}

EvaluationResult evaluation_from_json(const nlohmann::json& json) {
  EvaluationResult r;
  r.tasks = json.at("tasks").get<int64_t>();
  r.compile_rate = json.at("compile_rate").get<double>();
  r.correct_rate = json.at("correct_rate").get<double>();
  r.truncated_rate = json.at("truncated_rate").get<double>();
  r.unverified = json.at("unverified").get<int64_t>();
  r.fault_classes = json.at("fault_classes").get<std::map<std::string, int64_t>>();
  r.seconds = json.at("seconds").get<double>();
  return r;
}

std::string evaluation_table(const std::vector<EvaluationResult>& results) {
  std::string table = "held-out tasks, greedy     tasks  compile  correct   change\n";
  for (size_t i = 0; i < results.size(); ++i) {
    const EvaluationResult& r = results[i];
    char line[200];
    snprintf(line, sizeof line, "%-26s %5lld  %5.1f %%  %5.1f %%", moment_of(r.phase).c_str(),
             static_cast<long long>(r.tasks), 100 * r.compile_rate, 100 * r.correct_rate);
    table += line;
    if (i > 0) {
      snprintf(line, sizeof line, "   %+5.1f", 100 * (r.correct_rate - results[i - 1].correct_rate));
      table += line;
    }
    if (r.unverified > 0) table += concat("   (", r.unverified, " without a verdict)");
    table += "\n";
  }
  return table;
}

}  // namespace bicrl
