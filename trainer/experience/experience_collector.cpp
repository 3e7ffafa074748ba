#include "trainer/experience/experience_collector.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "common/hash.h"
#include "common/rng.h"
#include "tasks/known_programs.h"
#include "trainer/experience/experience_exchange.h"
#include "trainer/experience/imitation.h"

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
    if (turn.verdict && turn.verdict->outcome == Outcome::kTaskFault)
      outcome.task_fault = turn.verdict->diagnostics;
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
  const auto technique = correct ? way_of(*episode.task, turn.program) : std::nullopt;
  return {.is_asked = turn.verdict.has_value(),
          .is_truncated = episode.is_truncated(),
          .is_compiled = turn.verdict && turn.verdict->compiled,
          .is_correct = correct,
          .is_novel = technique && !technique->shown,
          .is_masked = episode.reward.masked,
          .has_invalid_task = turn.verdict && turn.verdict->outcome == Outcome::kTaskFault,
          .is_lost = turn.is_lost(),
          .is_straggler = turn.is_lost() && turn.straggled,
          .speedup = correct ? trusted_speedup(*turn.verdict, /*native_only=*/true) : 0,
          .reward = episode.reward.value};
}

void add_response(const Episode& episode, RankStepReport& rank, GroupReport& group) {
  const Turn& turn = episode.last();
  group.sums.count(counted(episode));
  if (turn.is_lost() && group.infrastructure_reason.empty())
    group.infrastructure_reason = turn.verdict->diagnostics;
  if (!episode.reward.masked)
    for (const RewardTerm& term : episode.reward.terms) group.reward_terms[term.name] += term.value;
  rank.program_hashes.push_back(hash_hex({episode.task_id, turn.rollout.text}));
  if (turn.verdict && !turn.verdict->fault_class.empty()) ++rank.fault_classes[turn.verdict->fault_class];
}

std::vector<Experience> experiences_of(const std::vector<Episode>& episodes) {
  std::vector<Experience> experiences;
  for (const Episode& episode : episodes)
    if (episode.is_trained)
      experiences.push_back({.group = episode.key.group,
                             .sample = episode.key.sample,
                             .rollout = episode.last().rollout,
                             .reward = episode.reward.value,
                             .advantage = episode.advantage});
  return experiences;
}

}  // namespace

GeneratedStep ExperienceCollector::generate(const std::vector<PromptedTask>& tasks, uint64_t key,
                                            int64_t policy_version, const StepPlace& place) {
  GeneratedStep generated{.collected = {}, .error = {}, .key = key};
  generated.error = error_of([&] {
    generated.collected =
        responses_.collect(own_groups(tasks), settings_.samples_per_task, key, policy_version, place);
  });
  return generated;
}

CollectedStep ExperienceCollector::collect_saved(std::vector<Episode> saved, const std::vector<Task>& tasks,
                                                 uint64_t key, const StepPlace& place) {
  std::unordered_map<std::string_view, const Task*> task_of;
  for (const Task& task : tasks) task_of.emplace(task.id, &task);
  std::map<int64_t, int64_t> sizes;
  std::vector<Episode> own;
  for (Episode& episode : saved) {
    const int64_t group = episode.key.group;
    const auto task = task_of.find(episode.task_id);
    if (task == task_of.end())
      throw InputError(concat("saved rollouts: group ", group, " answers task ", episode.task_id,
                              ", which is none of this stage's"));
    ++sizes[group];
    if (!is_mine(group)) continue;
    episode.key.place = place;
    episode.task = task->second;
    own.push_back(std::move(episode));
  }
  for (const auto& [group, size] : sizes)
    if (size != settings_.samples_per_task)
      throw InputError(concat("saved rollouts: group ", group, " has ", size,
                              " responses, samples_per_task is ", settings_.samples_per_task));
  GeneratedStep step{.collected = {}, .error = {}, .key = key};
  step.error = error_of([&] { step.collected = responses_.verify(std::move(own)); });
  return share(std::move(step));
}

std::vector<PromptedGroup> ExperienceCollector::own_groups(const std::vector<PromptedTask>& tasks) const {
  std::vector<PromptedGroup> groups;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    if (!is_mine(index)) continue;
    const auto& [task, repair] = tasks[i];
    groups.push_back(
        {.index = index,
         .task = task,
         .prompt = repair ? make_repair_prompt(*task, settings_.stage, settings_.prompt_style,
                                               settings_.scaffold, *repair)
                          : make_prompt(*task, settings_.stage, settings_.prompt_style, settings_.scaffold),
         .repair = repair.has_value()});
  }
  return groups;
}

void ExperienceCollector::place(const std::vector<RankStepReport>& ranks, CollectedStep& step) const {
  step.shares.resize(static_cast<size_t>(placement_.trainers()));
  for (const RankStepReport& rank : ranks)
    for (const ExperienceShare& share : rank.experiences)
      step.shares[static_cast<size_t>(placement_.trainer_of(share.group))].push_back(share);
  for (std::vector<ExperienceShare>& shares : step.shares)
    std::sort(shares.begin(), shares.end(), [](const ExperienceShare& a, const ExperienceShare& b) {
      return std::tie(a.group, a.sample) < std::tie(b.group, b.sample);
    });
}

void ExperienceCollector::take_over(CollectedStep& step) const {
  const std::vector<Episode> mine = hand_over(step.generated, placement_, control_);
  step.experiences = experiences_of(mine);
  // Both are in the order of groups and samples.
  auto next = mine.begin();
  for (Episode& entry : step.log)
    if (next != mine.end() && entry.key.group == next->key.group) entry = without_tokens(*next++);
}

CollectedStep ExperienceCollector::share(GeneratedStep generated) {
  CollectedResponses& collected = generated.collected;
  CollectedStep step;
  RankStepReport mine;
  if (generated.error.empty() && !collected.interrupted) mine = score(collected, generated.key);
  mine.sums.count({.confirmed = static_cast<double>(collected.confirmed),
                   .generated_tokens = static_cast<double>(collected.decoding.generated_tokens),
                   .forwards = static_cast<double>(collected.decoding.forwards)});
  mine.error = generated.error;
  mine.interrupted = collected.interrupted;
  if (ledger_) mine.ledger_lines = ledger_->unshared();
  std::vector<RankStepReport> ranks = exchange(std::move(mine), control_);
  step.interrupted =
      std::any_of(ranks.begin(), ranks.end(), [](const auto& rank) { return rank.interrupted; });
  step.figures = figures_of(ranks);
  if (step.interrupted) return step;
  std::vector<std::string> ledger_lines;
  place(ranks, step);
  for (const GroupReport* group : groups_in_order(ranks)) {
    if (group->task_outcome) step.task_outcomes.push_back(*group->task_outcome);
    if (group->group_outcome) step.group_outcomes.push_back(*group->group_outcome);
  }
  for (RankStepReport& rank : ranks) {
    ledger_lines.push_back(std::move(rank.ledger_lines));
    UnverifiedCount& unverified = step.unverified.emplace_back();
    for (const GroupReport& group : rank.groups) {
      unverified.responses += static_cast<int64_t>(group.sums[Sum::kAsked]);
      unverified.unverified += static_cast<int64_t>(group.sums[Sum::kLost]);
    }
    std::move(rank.log.begin(), rank.log.end(), std::back_inserter(step.log));
  }
  if (ledger_) ledger_->end_round(ledger_lines);
  std::ranges::sort(step.log, {}, [](const Episode& e) { return std::pair(e.key.group, e.key.sample); });
  step.generated = std::move(collected.episodes);
  if (placement_.is_split())
    take_over(step);
  else
    step.experiences = experiences_of(step.generated);
  step.rollout_seconds = collected.rollout_seconds;
  step.verify_wait_seconds = collected.verify_wait_seconds;
  step.verifier_queue = collected.verifier_queue;
  return step;
}

Reward ExperienceCollector::reward_of(const Episode& episode) const {
  if (!settings_.has_verdicts)
    return {.value = 0, .masked = true, .mask_reason = "not verified", .terms = {}};
  return reward_.evaluate(episode.last().verdict.value_or(Verdict{}), episode.is_truncated());
}

GroupAdvantage ExperienceCollector::advantage_of(Group group, uint64_t key) const {
  std::vector<Reward> rewards;
  for (const Episode& episode : group) rewards.push_back(episode.reward);
  GroupAdvantage advantage =
      group_advantage(settings_.advantage, rewards, reward_.min_deviation(), settings_.advantage_k);
  if (settings_.shuffled_advantages)
    shuffle_advantages(
        advantage, mix_key({mix_key(key, kShuffleStream), static_cast<uint64_t>(group.front().key.group)}));
  return advantage;
}

std::optional<GroupReward> ExperienceCollector::group_reward(Group group, double mean, uint64_t key) const {
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
  if (settings_.shuffled_advantages) {
    // A control must not learn from rewards by this path, either: any member, and all tasks alike.
    RandomStream draw(
        mix_key({mix_key(key, kShuffleStream), static_cast<uint64_t>(group.front().key.group), 1}));
    best = counted[draw.below(counted.size())];
    if (best->is_truncated()) best = nullptr;  // there is no end to imitate
    found.mean = 0;
    reward = 1;
  }
  if (best) found.best = {.reward = reward, .tokens = response_tokens(best->last().rollout)};
  return found;
}

RankStepReport ExperienceCollector::score(CollectedResponses& collected, uint64_t key) const {
  RankStepReport mine;
  const std::span<Episode> episodes(collected.episodes);
  const auto group_size = static_cast<size_t>(settings_.samples_per_task);
  for (size_t first = 0; first < episodes.size(); first += group_size) {
    const std::span<Episode> members = episodes.subspan(first, group_size);
    for (Episode& episode : members) episode.reward = reward_of(episode);
    const GroupAdvantage advantage = advantage_of(members, key);
    GroupReport& group = mine.groups.emplace_back();
    group.group = members.front().key.group;
    for (size_t i = 0; i < group_size; ++i) {
      Episode& episode = members[i];
      episode.advantage = advantage.advantages[i];
      episode.is_trained = advantage.weights[i] > 0;
      add_response(episode, mine, group);
      if (episode.is_trained)
        mine.experiences.push_back({.group = episode.key.group,
                                    .sample = episode.key.sample,
                                    .scored_tokens = episode.last().rollout.scored_tokens()});
      mine.log.push_back(without_tokens(episode));
    }
    const bool is_repair = members.front().repair;
    group.sums.count({.is_repair = is_repair,
                      .has_equal_rewards = advantage.state == GroupState::kZeroVariance,
                      .has_too_few = advantage.state == GroupState::kTooFew,
                      .distinct_correct_programs = distinct_correct_programs(members)});
    // How a task fares when a failure is shown says nothing of how it fares by itself.
    if (!is_repair)
      group.task_outcome = task_outcome_of(members, advantage, reward_.needs_verdict(/*truncated=*/true));
    GroupOutcome outcome = group_outcome_of(members, settings_.stage);
    if (settings_.imitates) outcome.reward = group_reward(members, advantage.mean, key);
    if (outcome.reward) outcome.reward->repair = is_repair;
    if (!outcome.empty()) group.group_outcome = std::move(outcome);
  }
  return mine;
}

}  // namespace bicrl
