#include "report/evaluation_entry.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "report/response_table.h"

namespace bicrl::report {
namespace {

constexpr double kNormal95 = 1.959964;

// What is counted once: a response, or the best of a task's samples.
struct Judged {
  bool is_compiled = false, is_correct = false, is_novel = false;
  bool is_truncated = true;  // all of its responses
  double speedup = 0;        // of a correct response; 0 if not known
};

void add(const EvaluatedProgram& program, Judged& judged) {
  judged.is_compiled |= program.is_compiled;
  judged.is_correct |= program.is_correct;
  judged.is_novel |= program.is_novel;
  judged.is_truncated &= program.is_truncated;
  if (program.is_correct) judged.speedup = std::max(judged.speedup, program.speedup);
}

void count(const Judged& judged, EvaluationEntry& entry) {
  ++entry.judged;
  entry.compiled += judged.is_compiled;
  entry.correct += judged.is_correct;
  entry.novel += judged.is_novel;
  entry.truncated += judged.is_truncated;
  if (judged.speedup <= 0) return;
  entry.speedups.push_back(judged.speedup);
  entry.fast_1 += judged.speedup > 1;
  entry.fast_2 += judged.speedup > 2;
}

void count_judged(EvaluationEntry& entry) {
  // A program that does not compile fails before the verifier finds that its task is invalid.
  std::set<std::string> invalid_tasks;
  for (const EvaluatedProgram& program : entry.programs)
    if (program.outcome == kInvalidTask) invalid_tasks.insert(program.task);
  std::map<std::string, Judged> tasks;
  for (const EvaluatedProgram& program : entry.programs) {
    if (!is_judged(program.outcome) || invalid_tasks.contains(program.task)) continue;
    Judged response;
    add(program, entry.is_best_of ? tasks[program.task] : response);
    if (!entry.is_best_of) count(response, entry);
  }
  for (const auto& [task, best] : tasks) count(best, entry);
}

}  // namespace

Estimate share_estimate(int64_t count, int64_t of) {
  if (of <= 0) return {};
  const double n = static_cast<double>(of), share = static_cast<double>(count) / n,
               z2 = kNormal95 * kNormal95;
  const double centre = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kNormal95 * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  // Rounding must not leave the share itself outside.
  return {share, std::min(share, centre - half), std::max(share, centre + half), true};
}

Estimate mean_estimate(double mean, double deviation, int64_t count) {
  if (count <= 0) return {};
  const double half = kNormal95 * deviation / std::sqrt(static_cast<double>(count));
  return {mean, mean - half, mean + half, true};
}

Estimate geometric_mean_estimate(const std::vector<double>& values) {
  if (values.empty()) return {};
  const double n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += std::log(value);
  for (const double value : values) squares += std::pow(std::log(value) - sum / n, 2);
  const Estimate logs =
      mean_estimate(sum / n, n > 1 ? std::sqrt(squares / (n - 1)) : 0, static_cast<int64_t>(n));
  return {std::exp(logs.value), std::exp(logs.low), std::exp(logs.high), true};
}

EvaluationEntry read_evaluation(const std::filesystem::path& file) {
  EvaluationEntry entry{.name = file.stem().string()};
  entry.is_best_of = entry.name.ends_with(kBestOfSuffix);
  entry.lines = for_each_object(file, [&](const nlohmann::json& line) {
    EvaluatedProgram program{
        .task = text_or(line, "task_id"),
        .outcome = text_or(line, "verdict", kNoVerdict),
        .technique = text_or(line, "technique"),
        .bound_by = text_or(line, "bound_by"),
        .clock = text_or(line, "clock"),
        .program = text_or(line, "program"),
        .sample = static_cast<int64_t>(std::clamp(number_or(line, "sample", 0), 0.0, 1e9)),
        .is_compiled = flag_or(line, "compiled", false),
        .is_correct = flag_or(line, "correct", false),
        .is_novel = flag_or(line, "novel", false),
        .is_truncated = flag_or(line, "truncated", false),
        .speedup = number_or(line, "speedup", 0),
        .candidate_ms = number_or(line, "candidate_ms", 0),
        .eager_ms = number_or(line, "eager_ms", 0)};
    if (program.task.empty()) return;
    ++entry.responses;
    ++entry.outcomes[program.outcome];
    entry.programs.push_back(std::move(program));
  });
  count_judged(entry);
  return entry;
}

}  // namespace bicrl::report
