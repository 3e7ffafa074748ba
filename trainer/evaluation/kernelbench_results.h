// Results of grading a level of KernelBench, in KernelBench's own terms: its two files of results, and the
// figures of its analysis script. Plain values; pure functions.
//
// The script pairs programs and baselines by their place in the files, so that both files hold all problems
// in one order, and problems without a program, too (wrong: that is how it counts them). It takes the sample
// with number 0 of each.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "verdict/verdict.h"

namespace bicrl {

struct TaskScore;  // task_scores.h

struct KernelBenchProblem {
  int64_t number = 0;  // `problem_id`, unique within its level
  std::string name;    // as published, "19_ReLU"
};

// One program. Times in milliseconds; -1 where there is none.
struct KernelBenchSample {
  int64_t number = 0;
  bool graded = true;      // false: without a verdict through the grader's own fault
  bool truncated = false;  // its response was cut off by the token limit
  bool compiled = false;
  bool correct = false;
  double runtime_ms = -1;
  double reference_ms = -1;  // of the reference, measured with this program
  bool paired = false;       // the two were measured in turns: their ratio is the speed-up
  nlohmann::ordered_json metadata = nlohmann::ordered_json::object();
  nlohmann::ordered_json runtime_stats = nlohmann::ordered_json::object();
  nlohmann::ordered_json reference_stats = nlohmann::ordered_json::object();
};

// Our verifier's verdict as such a sample. Times are those that can be trusted (reward/reward_rule.h).
KernelBenchSample sample_of(const Verdict& verdict, int64_t number);
// {"compiled", "correctness", "metadata", "runtime", ...} as a sample.
KernelBenchSample sample_of(const nlohmann::ordered_json& record, int64_t number);
KernelBenchSample ungraded_sample(const std::string& reason, int64_t number);

struct KernelBenchEntry {
  KernelBenchProblem problem;
  std::vector<KernelBenchSample> samples;  // ascending numbers
  // Of the reference: {"mean", "std", "min", "max", "num_trials", "hardware", "device"}. Without times:
  // empty.
  nlohmann::ordered_json baseline = nlohmann::ordered_json::object();
};

struct KernelBenchResults {
  int64_t level = 0;
  std::vector<KernelBenchEntry> entries;  // ascending numbers
};

// Fills in the baselines of paired samples, from the first sample of each problem that has times.
void take_baselines_of_pairs(KernelBenchResults& results);

// {problem: [{"sample_id", "compiled", ...}]}: eval_results.json.
nlohmann::ordered_json eval_results_json(const KernelBenchResults& results);
// {"level1": {"19_ReLU.py": {"mean", ...}}}: baseline_time_torch.json. A problem without times has a mean and
// a number of trials of 0, so that no program is faster.
nlohmann::ordered_json baseline_json(const KernelBenchResults& results);

inline constexpr double kFastThresholds[] = {0, 0.5, 0.8, 1, 1.5, 2, 4};

struct KernelBenchSummary {
  int64_t problems = 0;
  int64_t programs = 0;  // that were graded
  int64_t ungraded = 0;
  int64_t missing = 0;       // problems without any program
  int64_t most_samples = 0;  // of one problem
  bool timed = false;        // some correct program has times
  // Shares of all problems, of their samples with number 0.
  double compiled = 0, correct = 0;
  double best_correct = 0;  // with any correct sample
  // The share of all problems whose sample 0 is correct and more than p times as fast as the reference, and
  // those whose fastest correct sample is. In the order of kFastThresholds.
  std::vector<double> fast, best_fast;
  // Geometric means over the correct ones with times; 0 without any.
  double speedup = 0, best_speedup = 0;
};

KernelBenchSummary summarise(const KernelBenchResults& results);
// Of each problem, for pass@k and intervals (eval_report.h), without speeds. A problem without a program has
// as many wrong ones as others have at most.
std::vector<TaskScore> scores_of(const KernelBenchResults& results);
std::string summary_table(const KernelBenchSummary& summary);
nlohmann::json to_json(const KernelBenchSummary& summary);

}  // namespace bicrl
