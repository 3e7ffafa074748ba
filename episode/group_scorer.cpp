#include "episode/group_scorer.h"

#include <set>
#include <string_view>

#include "common/hash.h"
#include "common/rng.h"
#include "tasks/synthetic/known_programs.h"

namespace bicrl {
namespace {

constexpr std::string_view kShuffleStream = "shuffled_advantages";

using Group = std::span<const Episode>;

// Over the responses that the reward counts. A truncated one has failed unless its verdict counts
// (`truncated_by_verdict`). None if the reward counts none.
std::optional<TaskOutcome> task_outcome_of(Group group, const GroupAdvantage& advantage,
                                           bool truncated_by_verdict) {
  int64_t counted = 0, correct = 0;
  for (const Episode& episode : group) {
    if (episode.reward.masked) continue;
    ++counted;
    const bool fails = episode.is_truncated() && !truncated_by_verdict;
    correct += !fails && episode.last().is_verified() && episode.last().is_correct();
  }
  if (counted == 0) return std::nullopt;
  return TaskOutcome{.task_id = group.front().task_id,
                     .pass_rate = static_cast<double>(correct) / static_cast<double>(counted),
                     .reward_deviation = advantage.dropped() ? 0 : advantage.deviation};
}

double distinct_correct_programs(Group group) {
  std::set<std::string_view> programs;
  for (const Episode& episode : group)
    if (episode.last().is_correct()) programs.insert(episode.last().program);
  return static_cast<double>(programs.size());
}

GroupOutcome group_outcome_of(Group group, Stage stage) {
  GroupOutcome outcome{.task_id = group.front().task_id, .noted = {}, .failure = std::nullopt};
  std::vector<RepairMember> members;
  for (const Episode& episode : group) {
    const Turn& turn = episode.last();
    if (turn.is_verified() && (turn.verdict->correct || turn.verdict->fault_class == "unconfirmed"))
      outcome.noted.push_back({turn.program, *turn.verdict});
    if (turn.verdict && turn.verdict->outcome == Outcome::kInvalidTask)
      outcome.invalid_task = turn.verdict->diagnostics;
    members.push_back({.program = turn.program,
                       .masked = !turn.is_verified() || episode.is_truncated(),
                       .verdict = turn.verdict.value_or(Verdict{})});
  }
  outcome.failure = repair_material(outcome.task_id, stage, members);
  return outcome;
}

CountedResponse counted(const Episode& episode) {
  const Turn& turn = episode.last();
  const bool correct = turn.is_correct();
  const auto technique = correct ? program_technique(*episode.task, turn.program) : std::nullopt;
  return {.is_asked = turn.verdict.has_value(),
          .is_truncated = episode.is_truncated(),
          .is_compiled = turn.is_verified() && turn.verdict->compiled,
          .is_correct = correct,
          .is_novel = technique && technique->is_novel,
          .is_masked = episode.reward.masked,
          .is_reduced = turn.is_verified() && turn.verdict->graded_at == kReducedSize,
          .is_undecided = turn.verdict && turn.verdict->outcome == Outcome::kUndecided,
          .has_invalid_task = turn.verdict && turn.verdict->outcome == Outcome::kInvalidTask,
          .is_lost = turn.is_lost(),
          .is_straggler = turn.is_lost() && turn.straggled,
          .speedup = correct ? trusted_speedup(*turn.verdict) : 0,
          .reward = episode.reward.value};
}

void add_response(const Episode& episode, GroupReport& report) {
  const Turn& turn = episode.last();
  report.sums.count(counted(episode));
  if (turn.is_lost() && report.infrastructure_reason.empty())
    report.infrastructure_reason = turn.verdict->diagnostics;
  if (!episode.reward.masked)
    for (const RewardTerm& term : episode.reward.terms) report.reward_terms[term.name] += term.value;
  report.program_hashes.push_back(hash_hex({episode.task_id, turn.program}));
  if (turn.verdict && !turn.verdict->fault_class.empty()) ++report.fault_classes[turn.verdict->fault_class];
}

}  // namespace

ResponseTokens response_tokens(const Rollout& rollout) {
  // Scored positions are those up to the end; what follows is context.
  int64_t written = 0;
  for (size_t i = 0; i < rollout.step_map.size(); ++i)
    if (rollout.step_map[i] > 0) written = static_cast<int64_t>(i) + 1;
  const auto begin = rollout.tokens.begin() + rollout.prompt_tokens;
  return {.prompt = {rollout.tokens.begin(), begin}, .response = {begin, begin + written}};
}

Reward reward_of(const Episode& episode, const RewardFunction& reward) {
  return reward.evaluate(episode.last().verdict.value_or(Verdict{}), episode.is_truncated(),
                         episode.last().rollout.tokens_left);
}

GroupAdvantage GroupScorer::advantage_of(Group group) const {
  std::vector<Reward> rewards;
  for (const Episode& episode : group) rewards.push_back(episode.reward);
  GroupAdvantage advantage = group_advantage(settings_.advantage, rewards, reward_.min_deviation());
  if (settings_.advantage.shuffled)
    shuffle_advantages(
        advantage, mix_key({mix_key(key_, kShuffleStream), static_cast<uint64_t>(group.front().key.group)}));
  return advantage;
}

std::optional<GroupReward> GroupScorer::best_of(Group group, double mean) const {
  std::vector<const Episode*> counted;
  const Episode* best = nullptr;
  for (const Episode& episode : group) {
    if (episode.reward.masked) continue;
    counted.push_back(&episode);
    const Turn& turn = episode.last();
    const bool succeeds = turn.is_verified() && turn.is_correct() && !episode.is_truncated();
    if (succeeds && (!best || episode.reward.value > best->reward.value)) best = &episode;
  }
  if (counted.empty()) return std::nullopt;
  GroupReward found{.task_id = group.front().task_id, .stage = settings_.stage, .mean = mean};
  double reward = best ? best->reward.value : 0;
  if (settings_.advantage.shuffled) {
    // A control must not learn from rewards by this path, either: any member, and all tasks alike.
    RandomStream draw(
        mix_key({mix_key(key_, kShuffleStream), static_cast<uint64_t>(group.front().key.group), 1}));
    best = counted[draw.below(counted.size())];
    if (best->is_truncated()) best = nullptr;  // there is no end to imitate
    found.mean = 0;
    reward = 1;
  }
  if (best) found.best = {.reward = reward, .tokens = response_tokens(best->last().rollout)};
  return found;
}

GroupReport GroupScorer::score(std::span<Episode> group) const {
  for (Episode& episode : group)
    episode.reward = settings_.has_verdicts
                         ? reward_of(episode, reward_)
                         : Reward{.value = 0, .masked = true, .mask_reason = "not verified", .terms = {}};
  const GroupAdvantage advantage = advantage_of(group);
  GroupReport report;
  report.group = group.front().key.group;
  for (size_t i = 0; i < group.size(); ++i) {
    group[i].advantage = advantage.advantages[i];
    group[i].is_trained = advantage.weights[i] > 0;
    add_response(group[i], report);
  }
  const bool is_repair = group.front().repair;
  report.sums.count({.is_repair = is_repair,
                     .has_equal_rewards = advantage.state == GroupState::kZeroVariance,
                     .has_too_few = advantage.state == GroupState::kTooFew,
                     .is_kept = advantage.is_kept,
                     .distinct_correct_programs = distinct_correct_programs(group)});
  // How a task fares when a failure is shown says nothing of how it fares by itself.
  if (!is_repair)
    report.task_outcome = task_outcome_of(group, advantage, reward_.needs_verdict(/*truncated=*/true));
  GroupOutcome outcome = group_outcome_of(group, settings_.stage);
  if (settings_.imitates) outcome.reward = best_of(group, advantage.mean);
  if (outcome.reward) outcome.reward->repair = is_repair;
  if (!outcome.empty()) report.group_outcome = std::move(outcome);
  return report;
}

}  // namespace bicrl
