// One step's data: responses to prompts with their verdicts, turned into rewards, advantages and experiences,
// and exchanged with the other ranks.
//
// How this folder works: episode/prompt_plan.h says what is asked, response_collector.h runs the pipeline
// (episode/episode_pipeline.h) with this rank's engine, verdicts come through verdict_ledger.h, which knows
// those of before, from verifiers that grading_basis.h has compared, and episode/group_scorer.h makes rewards
// of them. This class has ranks report what they have in one step_exchange.h, from which episode/figures.h
// counts. unverified.h says when too much is missing, masked_set.h what was missing when the update was made,
// rollout_store.h keeps a step.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "episode/group_scorer.h"
#include "episode/prompt_plan.h"
#include "reward/advantage.h"
#include "reward/reward_rule.h"
#include "tasks/prompt.h"
#include "tasks/task.h"
#include "trainer/experience/response_collector.h"
#include "trainer/experience/step_exchange.h"
#include "trainer/experience/unverified.h"
#include "trainer/experience/verdict_ledger.h"
#include "trainer/ranks/placement.h"

namespace bicrl {

struct CollectedStep {
  bool interrupted = false;  // on some rank a stop left responses without their verdict; nothing else counts
  // Over all ranks, equal on each:
  StepFigures figures;
  StepKeys shares;                           // of the experiences, by rank that trains
  std::set<int64_t> informative;             // groups of the update whose rewards differ, of this step alone
  std::vector<UnverifiedCount> unverified;   // by rank
  std::vector<TaskOutcome> task_outcomes;    // without repairs, and without tasks that got no verdict
  std::vector<GroupOutcome> group_outcomes;  // for curation
  // All, by group and sample, without tokens; those that this rank neither generated nor trains only as
  // kLog has them.
  std::vector<Episode> log;
  // Of the groups that this rank trains:
  std::vector<Experience> experiences;  // without members of dropped groups and masked ones
  // Of those that it generated:
  std::vector<Episode> generated;  // whole
  double rollout_seconds = 0;
  double verify_wait_seconds = 0;
  int64_t verifier_queue = 0;   // verdicts that were missing when the last response was there
  double exchange_seconds = 0;  // with the wait for the slowest rank
};

// What a rank has generated of a step, and the others do not know yet.
struct GeneratedStep {
  CollectedResponses collected;
  std::vector<GroupReport> groups;  // none if a stop interrupted it
  std::string error;                // of error_of(), if it could not
};

// What the ranks have shared of a step so far, over one round or several.
struct SharedStep {
  std::vector<RankStepReport> ranks;  // by rank
  CollectedResponses own;             // of this rank
  int64_t rounds = 0;
  double exchange_seconds = 0;

  bool is_interrupted() const;  // on some rank
  int64_t groups() const;
  int64_t informative_groups() const;
  std::vector<UnverifiedCount> unverified() const;  // by rank
};

struct CollectorSettings {
  PromptStyle prompt_style = PromptStyle::kCompact;
  Scaffold scaffold = Scaffold::kClamp;
  int64_t samples_per_task = 1;
  GroupScoring scoring{};
};

// Refers to everything it is given, owns nothing. One collector per phase and rank; not thread-safe.
class ExperienceCollector {
 public:
  // `control` is that of all ranks, those that train and those that generate.
  ExperienceCollector(ResponseCollector& responses, VerdictLedger* ledger, const RewardFunction& reward,
                      ControlPlane& control, const Placement& placement, CollectorSettings settings)
      : responses_(responses),
        ledger_(ledger),
        reward_(reward),
        control_(control),
        placement_(placement),
        settings_(std::move(settings)) {}

  // Collective. Every rank gives the same tasks and works on its share. `key` decides all draws, whatever the
  // number of ranks. Throws SharedError if generating fails on any rank.
  CollectedStep collect(const std::vector<PromptedTask>& tasks, uint64_t key, int64_t policy_version,
                        const StepPlace& place = {}) {
    return share(generate(tasks, key, policy_version, place));
  }
  // Its parts: this rank's own work, of which nobody else need know, the exchange, and what follows from it.
  // A step may generate and share several rounds; `first_group` is the number of a round's first group. If a
  // stop interrupted the step on some rank, figures hold only what was generated.
  GeneratedStep generate(const std::vector<PromptedTask>& tasks, uint64_t key, int64_t policy_version,
                         const StepPlace& place = {}, int64_t first_group = 0);
  void share(GeneratedStep generated, SharedStep& step);  // collective
  CollectedStep finish(SharedStep step);                  // collective
  CollectedStep share(GeneratedStep generated) {
    SharedStep step;
    share(std::move(generated), step);
    return finish(std::move(step));
  }
  // The same from saved episodes of all ranks, in order of groups, now as the step `place`; `tasks` are those
  // that they may be of. With `verdict_keys`, of all of them, the same verdicts count as when these were
  // noted; without, quarantine decides. Throws InputError if an episode is of none of the tasks, groups have
  // another size, or there are not as many keys as episodes.
  CollectedStep collect_saved(std::vector<Episode> saved, const std::vector<Task>& tasks, uint64_t key,
                              const StepPlace& place = {}, const std::vector<std::string>& verdict_keys = {});

 private:
  bool is_mine(int64_t group) const { return placement_.generator_of(group) == control_.rank(); }
  std::vector<PromptedGroup> own_groups(const std::vector<PromptedTask>& tasks, int64_t first_group) const;
  // Which rank trains what.
  void place(const std::vector<RankStepReport>& ranks, CollectedStep& step) const;
  // Collective: in exchange for what this rank has generated, what it trains.
  void take_over(CollectedStep& step) const;
  // This rank's part of the exchange.
  RankStepReport report_of(const GeneratedStep& generated) const;

  ResponseCollector& responses_;
  VerdictLedger* ledger_;
  const RewardFunction& reward_;
  ControlPlane& control_;
  Placement placement_;
  CollectorSettings settings_;
};

}  // namespace bicrl
