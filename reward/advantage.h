// Group advantage: how much better a response did than the other responses to the same prompt. Pure
// functions.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reward/reward_rule.h"

namespace bicrl {

enum class AdvantageKind {
  kZScore,       // (r - mean) / population standard deviation (DICE), with a floor under the divisor
  kMeanOnly,     // r - mean
  kLeaveOneOut,  // r - mean of the others
  kBest,         // 1 for the best, 0 for the others: rejection sampling, each group's best imitated
  kMaxAtK        // what the response adds to the best of k (reward/max_at_k.h)
};
std::string to_string(AdvantageKind kind);                    // "zscore", "mean_only" and so on
AdvantageKind parse_advantage_kind(const std::string& text);  // InputError
std::vector<std::string> advantage_names();                   // of all kinds

// How a group's rewards become advantages. A parameter of a kind is a field here.
struct AdvantageSettings {
  AdvantageKind kind = AdvantageKind::kZScore;
  int64_t k = 1;          // of kMaxAtK; if no more than k members count, it is one less than they are
  bool shuffled = false;  // a control: what the policy learns then, it did not learn from rewards
  // Groups with equal rewards stay in the update, with advantage 0, for what else is minimised there. Read by
  // whoever knows whether there is anything (trainer/run/run_settings.cpp).
  bool keeps_equal = false;

  // Of groups of so many responses. Reads `advantage`, `advantage_k` and `shuffled_advantages`.
  static AdvantageSettings from_config(const ConfigSection& section, int64_t samples_per_task);
};
// What rescoring needs to know again of a stored step: fields of its line of responses.jsonl. The latter
// throws InputError, or what nlohmann::json throws.
nlohmann::json to_json(const AdvantageSettings& settings);
AdvantageSettings advantage_from_json(const nlohmann::json& line);

enum class GroupState {
  kUsed,
  kZeroVariance,  // all rewards are equal: nothing to learn from, the group is dropped unless it is kept
  kTooFew         // fewer than two members are not masked: the group is dropped
};
std::string to_string(GroupState state);  // "used", "zero_variance", "too_few"

struct GroupAdvantage {
  GroupState state = GroupState::kTooFew;
  bool is_kept = false;  // in the update although all rewards are equal
  // Per member, in the order given. A masked member, and every member of a dropped group, has weight 0 and
  // advantage 0; all others have weight 1, and in a group that is kept advantage 0.
  std::vector<double> advantages;
  std::vector<double> weights;
  // Over the members that are not masked; 0 if there is none.
  double mean = 0;
  double deviation = 0;  // population standard deviation, as it is: without the floor
  int counted = 0;

  bool dropped() const { return state != GroupState::kUsed && !is_kept; }
};

// A z-score divides by the standard deviation or by `min_deviation`, whichever is greater: differences that
// are mere noise must not become advantages of +-1. In units of the rewards; 0 sets no floor. The other kinds
// divide by nothing and do not read it. Nothing is shuffled: that needs a key.
GroupAdvantage group_advantage(const AdvantageSettings& settings, const std::vector<Reward>& rewards,
                               double min_deviation);

// Shuffles the advantages among the members that are not masked (`key` decides the order): a control whose
// updates are as large as ever and know nothing of which response was better.
void shuffle_advantages(GroupAdvantage& group, uint64_t key);

}  // namespace bicrl
