// The scoring stage: rewards and advantages of a group of episodes, and what the group contributes to a
// step's figures, to the curriculum and to curation.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "episode/curation.h"
#include "episode/episode.h"
#include "episode/figures.h"
#include "reward/advantage.h"
#include "reward/reward_rule.h"
#include "tasks/curriculum.h"
#include "tasks/prompt.h"

namespace bicrl {

// Of one group. Sums that are no whole numbers are added up in the order of groups, and outcomes are noted in
// it, so that a step's figures and what follows from them do not depend on which rank had which group.
struct GroupReport {
  int64_t group = 0;
  StepSums sums;
  std::string infrastructure_reason;           // of one response
  std::map<std::string, double> reward_terms;  // sums
  std::map<std::string, int64_t> fault_classes;
  std::vector<std::string> program_hashes;    // with their task
  std::optional<TaskOutcome> task_outcome;    // of its task
  std::optional<GroupOutcome> group_outcome;  // as far as it matters to curation
};

struct GroupScoring {
  Stage stage = Stage::kEndToEnd;
  AdvantageSettings advantage{};
  bool has_verdicts = true;  // else every response is masked
  bool imitates = false;     // the group's best response is reported
};

// What there is to imitate of a rollout: up to its end token or delimiter.
ResponseTokens response_tokens(const Rollout& rollout);

// Of its last turn; an episode without a verdict counts as one whose verdict was lost.
Reward reward_of(const Episode& episode, const RewardFunction& reward);

// Refers to the reward. Immutable; safe from any thread.
class GroupScorer {
 public:
  // `key` decides what is shuffled, with the group.
  GroupScorer(const RewardFunction& reward, const GroupScoring& settings, uint64_t key)
      : reward_(reward), settings_(settings), key_(key) {}

  // Fills in reward, advantage and whether the episode counts in the update.
  GroupReport score(std::span<Episode> group) const;

 private:
  GroupAdvantage advantage_of(std::span<const Episode> group) const;
  // For those who imitate; nothing if no member counts.
  std::optional<GroupReward> best_of(std::span<const Episode> group, double mean) const;

  const RewardFunction& reward_;
  GroupScoring settings_;
  uint64_t key_;
};

}  // namespace bicrl
