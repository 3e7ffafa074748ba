// Held-out evaluation: greedy, one response per task, end-to-end prompts; the same before, within and after
// every phase.
//
// How this folder works: task_scores.h asks a policy about tasks and has the answers verified, for the
// evaluations of a run (this file) and for `bicrl eval` (eval_settings.h, eval_report.h); pass_at_k.h is its
// arithmetic.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/evaluation/task_scores.h"

namespace bicrl {

// The name of the evaluation before all phases.
inline constexpr std::string_view kStartEvaluation = "start";

struct EvaluationResult {
  std::string phase;  // after which it was taken, kStartEvaluation, or "<phase>-<step>" within one
  int64_t tasks = 0;
  double compile_rate = 0;
  double correct_rate = 0;
  double truncated_rate = 0;
  int64_t timed = 0;           // correct ones whose speed-up over eager is known; 0 where none is asked for
  double geomean_speedup = 0;  // of these; 0 if there are none
  double fast_1 = 0;           // share of the responses, as above, that are correct and faster than eager
  double fast_2 = 0;           // likewise, and more than twice as fast
  int64_t unverified = 0;      // responses without a verdict: infrastructure; rates are over the others
  std::string unverified_reason{};  // of one of them
  std::map<std::string, int64_t> fault_classes;
  double seconds = 0;
};

// Of one response to each task.
EvaluationResult evaluation_result(const std::string& phase, const TaskScores& scores, double seconds);

// Without the phase, which is the key under which results are kept.
nlohmann::json to_json(const EvaluationResult& result);
EvaluationResult evaluation_from_json(const nlohmann::json& json);  // throws nlohmann::json::exception

std::string moment_of(const std::string& phase);  // "after infilling", "at the start", "infilling, step 20"

// The before/after table, one line per phase.
std::string evaluation_table(const std::vector<EvaluationResult>& results);

}  // namespace bicrl
