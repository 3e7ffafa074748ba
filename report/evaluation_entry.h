// Evaluations as counts and rates with their uncertainty, of the responses in evaluations/NAME.jsonl or of
// such a file alone. Plain values; pure functions but for the reading.
#pragma once
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/json_lines.h"

namespace bicrl::report {

// A figure with the bounds of its 95 % interval.
struct Estimate {
  double value = 0, low = 0, high = 0;
  bool is_known = false;
};
// Wilson's interval of a share.
Estimate share_estimate(int64_t count, int64_t of);
Estimate mean_estimate(double mean, double deviation, int64_t count);
// Geometric mean of values above 0.
Estimate geometric_mean_estimate(const std::vector<double>& values);

struct EvaluatedProgram {
  std::string task{}, outcome{}, technique{}, bound_by{}, clock{}, program{};
  int64_t sample = 0;
  bool is_compiled = false, is_correct = false, is_novel = false, is_truncated = false;
  double speedup = 0, candidate_ms = 0, eager_ms = 0;
};

struct EvaluationEntry {
  std::string name{};  // "warm_up", "end_to_end-12_best_of"
  std::string phase{};
  int64_t step = 0;         // within the phase; 0: at its end, or before the first phase
  int64_t run_row = -1;     // the row of StepTable behind which it was made; -1: before the first
  bool is_variant = false;  // "_best_of" or "_as_infilling": not on the curves
  bool is_best_of = false;  // counts tasks by the best of their samples, as the run does
  int64_t responses = 0;
  // What rates count, and are shares of: responses with a judgement of their program, or, for the best of
  // several samples, tasks with such a response. As the run's own rates, without tasks that are invalid.
  int64_t judged = 0;
  int64_t compiled = 0, correct = 0, fast_1 = 0, fast_2 = 0, novel = 0, truncated = 0;  // of the judged
  std::vector<double> speedups{};  // of correct ones with times
  std::map<std::string, int64_t> outcomes{};
  Estimate reward{};  // from summary.json, where it has one
  std::vector<EvaluatedProgram> programs{};
  LineCounts lines{};

  Estimate compile_rate() const { return share_estimate(compiled, judged); }
  Estimate correct_rate() const { return share_estimate(correct, judged); }
  Estimate novel_rate() const { return share_estimate(novel, judged); }
  Estimate truncated_rate() const { return share_estimate(truncated, judged); }
  // Not known without times: then a program is neither fast nor slow.
  Estimate fast_1_rate() const { return speedups.empty() ? Estimate{} : share_estimate(fast_1, judged); }
  Estimate fast_2_rate() const { return speedups.empty() ? Estimate{} : share_estimate(fast_2, judged); }
  Estimate geomean_speedup() const { return geometric_mean_estimate(speedups); }
};

// Ends the names of evaluations of several samples a task.
inline constexpr const char* kBestOfSuffix = "_best_of";

EvaluationEntry read_evaluation(const std::filesystem::path& file);

}  // namespace bicrl::report
