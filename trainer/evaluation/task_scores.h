// What an evaluation measures: each task's responses generated, verified and counted.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policy/tokenizer.h"
#include "policy/transformer.h"
#include "reward/client/verifier_client.h"
#include "tasks/task.h"
#include "trainer/evaluation/eval_settings.h"
#include "trainer/ranks/communicator.h"

namespace bicrl {

// Responses to one task. Those without a verdict, through the verifier's fault, count nowhere but in
// `unverified`.
struct TaskScore {
  int64_t verified = 0;
  int64_t compiled = 0;
  int64_t correct = 0;
  int64_t truncated = 0;
  int64_t unverified = 0;
  std::map<std::string, int64_t> fault_classes;  // of those that are not correct

  bool operator==(const TaskScore&) const = default;
};

struct EvalScores {
  std::vector<TaskScore> tasks;  // in the order of the tasks
  int64_t generated_tokens = 0;
  std::string unverified_reason;  // of one of the unverified responses
  std::string responses;          // JSON lines in the order of tasks and samples, if the settings name a file
};

// Collective: task i belongs to rank i mod size. A response depends on seed, task and sample alone, so the
// number of ranks changes nothing (up to rounding). The result is whole on rank 0 and empty on the others.
// Throws Error, on the rank concerned only, where a prompt does not fit the policy.
EvalScores score_tasks(const Transformer& policy, const Tokenizer& tokenizer, VerifierClient& verifier,
                       Communicator& communicator, const std::vector<Task>& tasks,
                       const EvalSettings& settings);

}  // namespace bicrl
