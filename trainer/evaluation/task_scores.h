// What an evaluation measures: each task's responses generated, verified and counted.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
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

// Responses to one task. Those without a verdict, through the verifier's fault, count nowhere but in
// `unverified`, those that cannot be graded here nowhere but in `undecided`. All to a task that can never be
// graded count nowhere.
struct TaskScore {
  int64_t verified = 0;
  int64_t compiled = 0;
  int64_t correct = 0;
  int64_t truncated = 0;
  int64_t unverified = 0;
  int64_t undecided = 0;
  int64_t reduced = 0;  // of the verified: compared at reduced sizes of their task (Verdict::graded_at)
  int64_t novel = 0;    // correct ones that compute in a way that no known program shows for these operators
  std::map<std::string, int64_t> fault_classes;  // of those that are not correct
  // Of the correct ones whose speed-up over eager is known: how many, those above 1 and above 2, the sum of
  // the speed-ups' logarithms, and the largest.
  int64_t timed = 0, fast_1 = 0, fast_2 = 0;
  double log_speedup = 0, log_speedup_squares = 0, best_log_speedup = 0;
  // Rewards, where the scoring names a reward.
  int64_t rewarded = 0;
  double reward = 0, reward_squares = 0;
  std::string invalid_task{};  // why it can never be graded; empty if it can

  TaskScore& operator+=(const TaskScore& other);  // but for the largest speed-up and the fault
  bool operator==(const TaskScore&) const = default;
};

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
