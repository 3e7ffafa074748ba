// Compares two scorings of a run's stored episodes: their rewards, and the signs of their advantages. An
// episode without a verdict is left out. Runs the episode pipeline with its scoring stage alone, and with two
// scorings instead of a GroupScorer: stored episodes have no tasks, and no policy is trained on them. Pure
// functions.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "episode/episode.h"
#include "reward/advantage.h"
#include "reward/reward_rule.h"

namespace bicrl {

// A reward and an advantage: what turns verdicts into numbers to learn from.
struct Scoring {
  const RewardFunction* reward = nullptr;  // null: the stored rewards
  AdvantageSettings advantage{};

  // The reward's floor. Stored rewards need none: only signs are compared, and a floor changes no sign.
  double min_deviation() const { return reward ? reward->min_deviation() : 0; }
};

// A step under one scoring.
struct StepScore {
  int64_t rewarded = 0;  // responses that are not masked
  double mean = 0;       // of the rewarded ones, as is
  double spread = 0;     // the population standard deviation
  int64_t groups = 0;
  int64_t zero_variance_groups = 0;
  int64_t too_few_groups = 0;
};

struct StepComparison {
  int64_t step = 0;
  std::string phase;
  int64_t responses = 0;
  StepScore before, after;
  // Shares of all responses. Changed sign: pushed up by one scoring and not by the other, or down; a response
  // that is left out counts as neither up nor down.
  double changed_sign = 0;
  double opposed = 0;  // up under one, down under the other
};

// One entry for each step and phase, in the order in which they first occur. The episodes of a group need
// not be adjacent; their order within the group is that given.
std::vector<StepComparison> rescore(std::vector<Episode> episodes, const Scoring& before,
                                    const Scoring& after);

// What the stored verdicts lack for this reward, in words; empty if nothing is missing.
std::vector<std::string> rescoring_gaps(std::span<const Episode> episodes, const RewardFunction& reward);

// One line for each step, then one over all responses of each phase with more than one step. `before` and
// `after` count the responses that are not masked; `dropped` the groups that teach nothing; `changed` and
// `opposed` are shares of all responses.
std::string rescore_table(const std::vector<StepComparison>& steps);

}  // namespace bicrl
