// Scores that an evaluation measures: each task's responses generated, verified and counted.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reward/client/verifier_client.h"
#include "reward/quarantine.h"
#include "reward/reward_rule.h"
#include "rollout/decoding/decode_engine.h"
#include "tasks/prompt.h"
#include "tasks/task.h"
#include "trainer/experience/unverified.h"
#include "trainer/experience/verdict_ledger.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/ranks/placement.h"

namespace bicrl {

using FaultCounts = std::map<std::string, int64_t>;

// What is counted of the responses to one task, as rows X(type, name, sum, what it is): `add` if scores of
// several tasks add it up, `skip` if only one task has it. Fields, sums and the exchange between ranks follow
// from the rows.
#define BICRL_TASK_SCORE(X)                                                                               \
  X(int64_t, verified, add, responses with a verdict on their program)                                    \
  X(int64_t, compiled, add, of these)                                                                     \
  X(int64_t, correct, add, of these)                                                                      \
  X(int64_t, truncated, add, of those with a verdict)                                                     \
  X(int64_t, unverified, add, without a verdict through a fault of the verifier; they count nowhere else) \
  X(int64_t, undecided, add, that cannot be graded here; they count nowhere else)                         \
  X(int64_t, reduced, add, of those with a verdict, compared at reduced sizes of their task)              \
  X(int64_t, novel, add, correct ones by a technique that no known program shows for these operators)     \
  X(FaultCounts, fault_classes, add, of those that are not correct)                                       \
  X(int64_t, timed, add, correct ones with a known speedup over eager)                                    \
  X(int64_t, fast_1, add, of these, faster than eager)                                                    \
  X(int64_t, fast_2, add, of these, more than twice as fast)                                              \
  X(double, log_speedup, add, sum of the logarithms of speedups)                                          \
  X(double, log_speedup_squares, add, sum of their squares)                                               \
  X(double, best_log_speedup, skip, the largest)                                                          \
  X(int64_t, rewarded, add, responses with a reward where the scoring names one)                          \
  X(double, reward, add, sum of the rewards)                                                              \
  X(double, reward_squares, add, sum of their squares)                                                    \
  X(std::string, invalid_task, skip, why the task can never be graded, when nothing else counts)

struct TaskScore {
#define BICRL_FIELD(type, name, sum, ...) type name{};
  BICRL_TASK_SCORE(BICRL_FIELD)
#undef BICRL_FIELD

  TaskScore& operator+=(const TaskScore& other);
  bool operator==(const TaskScore&) const = default;
};
void to_json(nlohmann::json& json, const TaskScore& score);
void from_json(const nlohmann::json& json, TaskScore& score);  // throws nlohmann::json::exception

struct TaskScores {
  bool interrupted = false;        // a stop ended the waiting for verdicts: nothing else counts
  std::vector<TaskScore> tasks{};  // in the order of the tasks
  int64_t generated_tokens = 0;
  std::vector<UnverifiedCount> unverified{};  // by rank
  std::string unverified_reason{};            // of one of the unverified responses
  std::string responses{};  // JSON lines in the order of tasks and samples, if they are kept
};

enum class KeptResponses {
  kNone,
  kWithVerdicts,  // with the whole verdict, which holds measured times: `bicrl eval`
  kEvaluated      // evaluated_response.h, the same in equal runs
};

struct ScoringSettings {
  Stage stage = Stage::kEndToEnd;
  PromptStyle prompt_style = PromptStyle::kCompact;
  DecodingSettings decoding;
  int64_t samples_per_task = 1;
  uint64_t key = 0;  // decides the draws, with task and sample
  KeptResponses keep = KeptResponses::kNone;
  // May be null: nothing is rewarded. What the reward leaves out because it was cut off counts by its verdict
  // here: a policy that nearly always is cut off must not look like the best one.
  const RewardFunction* reward = nullptr;
  const Quarantine* quarantine = nullptr;  // may be null: every verdict counts as it is
  std::function<bool()> stop_requested{};  // may be empty
};

// Collective: task i belongs to the rank that generates group i (trainer/ranks/placement.h). A response
// depends on key, task and sample alone, so the number of ranks changes nothing (up to rounding). The result
// is whole on every rank. `ledger` may be null. Throws SharedError if a prompt does not fit the policy, or
// the policy is broken, on any rank.
TaskScores score_tasks(DecodeEngine& engine, VerifierClient& verifier, VerdictLedger* ledger,
                       ControlPlane& control, const Placement& placement, const std::vector<Task>& tasks,
                       const ScoringSettings& settings);

// Responses without verdicts: JSON lines in the order of tasks and samples, {"task_id", "sample",
// "truncated", "program"}.
struct GeneratedResponses {
  std::string lines;
  int64_t generated_tokens = 0;
};

// Collective, and the same responses as those of score_tasks(). Throws as that does.
GeneratedResponses generate_responses(DecodeEngine& engine, ControlPlane& control, const Placement& placement,
                                      const std::vector<Task>& tasks, const ScoringSettings& settings);

}  // namespace bicrl
