// One step's data: generates responses for tasks, has each verified while others are still generated, and
// turns verdicts into experiences.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "policy/tokenizer.h"
#include "policy/transformer.h"
#include "reward/advantage.h"
#include "reward/client/verifier_client.h"
#include "reward/reward_rule.h"
#include "rollout/decoder.h"
#include "tasks/curriculum.h"
#include "tasks/prompt.h"
#include "tasks/task.h"
#include "trainer/experience/curation.h"
#include "trainer/experience/response_record.h"
#include "trainer/experience/rollout_store.h"
#include "trainer/experience/verdict_ledger.h"
#include "trainer/ranks/communicator.h"
#include "trainer/run/step_metrics.h"

namespace bicrl {

// What one rank knows of a task after a step.
struct TaskResult {
  const Task* task = nullptr;
  int counted = 0;  // responses with a verdict of the candidate (not masked)
  int compiled = 0;
  int correct = 0;
};

struct CollectedStep {
  std::vector<Experience>
      experiences;                     // of this rank; members of dropped groups and masked ones are left out
  std::vector<TaskResult> results;     // of this rank's tasks
  std::vector<GroupOutcome> outcomes;  // of this rank's groups, for curation
  std::vector<ResponseRecord> responses;  // of this rank, group after group
  std::vector<SavedRollout> rollouts;     // the same responses as the policy made them
  bool cut_short = false;                 // on some rank a stop left responses without their verdict
};

// How the tasks of all ranks fared; those without a single verdict are left out. Collective.
std::vector<TaskOutcome> outcomes_of(const CollectedStep& step, Communicator& communicator);

enum class VerdictSource {
  kVerifier,  // asked for where the ledger does not know them
  kLedger,    // taken from the ledger; a program that it does not know stays without a verdict
  kNone,
};

struct CollectorSettings {
  Stage stage = Stage::kEndToEnd;
  PromptStyle prompt_style = PromptStyle::kCompact;
  Scaffold scaffold = Scaffold::kClamp;
  DecodingSettings decoding;
  int64_t samples_per_task = 1;
  AdvantageKind advantage = AdvantageKind::kZScore;
  bool shuffled_advantages = false;
  std::string progress{};                  // label of a bar on the terminal while verdicts come; empty: none
  VerdictLedger* ledger = nullptr;         // null: verdicts are neither kept nor reused
  const Quarantine* quarantine = nullptr;  // null: every verdict counts as it is
  VerdictSource verdicts = VerdictSource::kVerifier;
  std::function<bool()> stop_requested{};  // looked at while verdicts are waited for; may be empty
};

// Refers to everything it is given, owns nothing. One collector per phase and rank; not thread-safe.
class ExperienceCollector {
 public:
  // `verifier` may be null where verdicts do not come from one.
  ExperienceCollector(const Transformer& policy, const Tokenizer& tokenizer, VerifierClient* verifier,
                      const RewardFunction& reward, Communicator& communicator, CollectorSettings settings);

  // Every rank gives the same tasks and works on its share: task i belongs to rank i mod size, whole groups.
  // `key` decides all draws, whatever the number of ranks. Adds the step's figures, over all ranks, to
  // `metrics`. Throws SharedError where generating fails on any rank.
  CollectedStep collect(const std::vector<PromptedTask>& tasks, uint64_t key, int64_t policy_version,
                        StepMetrics& metrics);
  // The same from saved rollouts of all ranks, in order of groups; `tasks` are those that they may be of.
  // Throws InputError where a rollout is of none of them, or groups have another size.
  CollectedStep collect_saved(std::vector<SavedRollout> rollouts, const std::vector<Task>& tasks,
                              uint64_t key, StepMetrics& metrics);

 private:
  struct Response {
    Response(size_t group, const Task* task) : group(group), task(task) {}
    size_t group;
    const Task* task;
    Rollout rollout;
    std::string verdict_key;         // in the ledger, where there is one
    std::optional<Verdict> verdict;  // none where the reward does not need one
  };
  // Responses of this rank's tasks, group after group; each goes to the verifier as soon as it is finished.
  std::vector<Response> generate(const std::vector<PromptedTask>& tasks, uint64_t key, int64_t policy_version,
                                 StepMetrics& metrics);
  // Waits for verdicts, then makes rewards, advantages and figures.
  CollectedStep judge(std::vector<Response> responses, uint64_t key, StepMetrics& metrics);
  // Asks for the verdict, or takes it from the ledger.
  void submit(size_t index, Response& response);
  // Has successes that are too good verified again. False where a stop ended the waiting.
  bool confirm(std::vector<Response>& responses, StepMetrics& metrics);
  GroupOutcome outcome_of(const Response* group, size_t size) const;
  // Takes verdicts that are ready (or waits until none is pending). False where a stop ended the waiting.
  bool receive(std::vector<Response>& responses, bool wait);
  bool stop_requested() const { return settings_.stop_requested && settings_.stop_requested(); }
  void summarise(const std::vector<Response>& responses, const std::vector<Reward>& rewards,
                 const std::vector<GroupAdvantage>& groups, StepMetrics& metrics);
  bool is_mine(size_t task_index) const;

  const Transformer& policy_;
  const Tokenizer& tokenizer_;
  VerifierClient* verifier_;
  const RewardFunction& reward_;
  Communicator& communicator_;
  CollectorSettings settings_;
};

}  // namespace bicrl
