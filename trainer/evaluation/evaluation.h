// Held-out evaluation: greedy, one response per task, end-to-end prompts; the same before, within and after
// every phase. Before, within and after an infilling stage the tasks with a scaffold are asked in that
// stage's form as well.
//
// At the end of a run some of them are asked again, several times each at the temperature of training, for
// the best of these responses (BestOf).
//
// How this folder works: task_scores.h asks a policy about tasks and has the answers verified, for the
// evaluations of a run (this file; best_checkpoint.h says which of them is the best) and for `bicrl eval`
// (eval_settings.h, eval_report.h); pass_at_k.h is its arithmetic, and evaluated_response.h what is kept of
// each response.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/evaluation/task_scores.h"

namespace bicrl {

// The name of the evaluation before all phases.
inline constexpr std::string_view kStartEvaluation = "start";

// Of several samples to each of some tasks: what the best one reaches.
struct BestOf {
  int64_t tasks = 0;           // with a verdict
  int64_t samples = 0;         // of each
  double correct_rate = 0;     // share of tasks with a correct sample
  int64_t timed = 0;           // tasks with a correct sample whose speed-up over eager is known
  double geomean_speedup = 0;  // of the fastest of these in each such task; 0 if there are none
  double fast_1 = 0;           // share of tasks with a correct sample that is faster than eager
  double fast_2 = 0;           // likewise, more than twice as fast
  double seconds = 0;
};

// Of one response to each of some tasks.
struct HeldOutFigures {
  int64_t tasks = 0;
  double compile_rate = 0;
  double correct_rate = 0;
  double truncated_rate = 0;
  int64_t timed = 0;           // correct ones whose speed-up over eager is known; 0 where none is asked for
  double geomean_speedup = 0;  // of these; 0 if there are none
  double log_speedup_spread = 0;  // standard deviation of their logarithms
  double fast_1 = 0;              // share of the responses, as above, that are correct and faster than eager
  double fast_2 = 0;              // likewise, and more than twice as fast
  double novel_rate = 0;          // share that is correct by a novel technique (EvaluatedResponse::novel)
  int64_t rewarded = 0;           // responses with a reward; 0 where nothing is rewarded
  double reward_mean = 0;         // of these
  double reward_spread = 0;       // their standard deviation
  int64_t unverified = 0;         // responses without a verdict: infrastructure
  int64_t undecided = 0;          // that cannot be graded here; rates are over all but these two
  std::string unverified_reason{};  // of one of them
  std::map<std::string, int64_t> fault_classes;
  double seconds = 0;
};

struct EvaluationResult : HeldOutFigures {
  std::string phase;           // after which it was taken, kStartEvaluation, or "<phase>-<step>" within one
  std::string reward_basis{};  // equal for equal rewards; empty where nothing is rewarded
  std::optional<HeldOutFigures> infilling{};  // of infilling prompts, where that stage is what it is about
  std::optional<BestOf> best_of{};            // where it was measured as well
};

HeldOutFigures held_out_figures(const TaskScores& scores, double seconds);
nlohmann::json to_json(const HeldOutFigures& figures);

BestOf best_of(const TaskScores& scores, int64_t samples, double seconds);

// Without the phase, which is the key under which results are kept.
nlohmann::json to_json(const EvaluationResult& result);
EvaluationResult evaluation_from_json(const nlohmann::json& json);  // throws nlohmann::json::exception

std::string moment_of(const std::string& phase);  // "after infilling", "at the start", "infilling, step 20"

// The before/after table, one line per phase, and below it those of infilling prompts and of the best of
// several, if they were measured. What was not timed has a dash. `clock` is that of the times, so that
// modelled ones are called so; empty if there are none.
std::string evaluation_table(const std::vector<EvaluationResult>& results, const std::string& clock = "");

}  // namespace bicrl
