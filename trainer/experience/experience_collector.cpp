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

using ResponseSpan = std::span<const VerifiedResponse>;

// Over the responses that the reward counts. A truncated one has failed unless its verdict counts
// (`truncated_by_verdict`). None if the reward counts none.
std::optional<TaskOutcome> task_outcome_of(ResponseSpan group, std::span<const Reward> rewards,
                                           const GroupAdvantage& advantage, bool truncated_by_verdict) {
  int64_t counted = 0, correct = 0;
  for (size_t i = 0; i < group.size(); ++i) {
    if (rewards[i].masked) continue;
    ++counted;
    const bool fails = group[i].rollout.truncated() && !truncated_by_verdict;
    correct += !fails && group[i].verified() && group[i].verdict->correct;
  }
  if (counted == 0) return std::nullopt;
  return TaskOutcome{.task_id = group.front().task->id,
                     .pass_rate = static_cast<double>(correct) / static_cast<double>(counted),
                     .reward_deviation = advantage.dropped() ? 0 : advantage.deviation};
}

double distinct_correct_programs(ResponseSpan group) {
  std::set<std::string_view> programs;
  for (const VerifiedResponse& response : group)
    if (response.verdict && response.verdict->correct) programs.insert(response.program);
  return static_cast<double>(programs.size());
}

GroupOutcome group_outcome_of(ResponseSpan group, Stage stage) {
  GroupOutcome outcome{.task_id = group.front().task->id, .noted = {}, .failure = std::nullopt};
  std::vector<RepairMember> members;
  for (const VerifiedResponse& response : group) {
    if (response.verified() && (response.verdict->correct || response.verdict->fault_class == "unconfirmed"))
      outcome.noted.push_back({response.program, *response.verdict});
    if (response.verdict && response.verdict->outcome == Outcome::kTaskFault)
      outcome.task_fault = response.verdict->diagnostics;
    members.push_back({.program = response.program,
                       .masked = !response.verified() || response.rollout.truncated(),
                       .verdict = response.verdict.value_or(Verdict{})});
  }
  outcome.failure = repair_material(outcome.task_id, stage, members);
  return outcome;
}

CountedResponse counted(const VerifiedResponse& response, const Reward& reward) {
  const Verdict verdict = response.verdict.value_or(Verdict{});
  const bool correct = response.verdict && verdict.correct;
  const bool invalid_task = response.verdict && verdict.outcome == Outcome::kTaskFault;
  const bool lost = response.verdict && !response.verified() && !invalid_task;
  const auto technique = correct ? way_of(*response.task, response.program) : std::nullopt;
  return {.is_asked = response.verdict.has_value(),
          .is_truncated = response.rollout.truncated(),
          .is_compiled = response.verdict && verdict.compiled,
          .is_correct = correct,
          .is_novel = technique && !technique->shown,
          .is_masked = reward.masked,
          .has_invalid_task = invalid_task,
          .is_lost = lost,
          .is_straggler = lost && response.straggled,
          .speedup = correct ? trusted_speedup(verdict, /*native_only=*/true) : 0,
          .reward = reward.value};
}

void add_response(const VerifiedResponse& response, const Reward& reward, StepShare& share,
                  GroupShare& group) {
  const CountedResponse facts = counted(response, reward);
  group.sums.count(facts);
  if (facts.is_lost && group.infrastructure_reason.empty())
    group.infrastructure_reason = response.verdict->diagnostics;
  if (!reward.masked)
    for (const RewardTerm& term : reward.terms) group.reward_terms[term.name] += term.value;
  share.program_hashes.push_back(hash_hex({response.task->id, response.rollout.text}));
  if (response.verdict && !response.verdict->fault_class.empty())
    ++share.fault_classes[response.verdict->fault_class];
}

ResponseEntry entry_of(const VerifiedResponse& response, const Reward& reward, double advantage) {
  return {.group = response.group,
          .task_id = response.task->id,
          .verdict_key = response.verdict_key,
          .truncated = response.rollout.truncated(),
          .reward = reward.value,
          .masked = reward.masked,
          .advantage = advantage,
          .text = response.rollout.text,
          .terms = reward.terms,
          .verdict = response.verdict};
}

}  // namespace

GeneratedStep ExperienceCollector::generate(const std::vector<PromptedTask>& tasks, uint64_t key,
                                            int64_t policy_version) {
  GeneratedStep generated{.collected = {}, .error = {}, .tasks = tasks, .key = key};
  generated.error = error_of([&] {
    generated.collected =
        responses_.collect(own_groups(tasks), settings_.samples_per_task, key, policy_version);
  });
  return generated;
}

CollectedStep ExperienceCollector::collect_saved(std::vector<SavedRollout> rollouts,
                                                 const std::vector<Task>& tasks, uint64_t key,
                                                 const std::vector<int64_t>& repairs) {
  std::unordered_map<std::string_view, const Task*> task_of;
  for (const Task& task : tasks) task_of.emplace(task.id, &task);
  std::map<int64_t, int64_t> sizes;
  std::vector<VerifiedResponse> own;
  for (SavedRollout& saved : rollouts) {
    const auto task = task_of.find(saved.rollout.task_id);
    if (task == task_of.end())
      throw InputError(concat("saved rollouts: group ", saved.group, " answers task ", saved.rollout.task_id,
                              ", which is none of this stage's"));
    const int64_t sample = sizes[saved.group]++;
    if (!is_mine(saved.group)) continue;
    VerifiedResponse& response = own.emplace_back();
    response.group = saved.group;
    response.sample = sample;
    response.task = task->second;
    response.rollout = std::move(saved.rollout);
  }
  for (const auto& [group, size] : sizes)
    if (size != settings_.samples_per_task)
      throw InputError(concat("saved rollouts: group ", group, " has ", size,
                              " responses, samples_per_task is ", settings_.samples_per_task));
  GeneratedStep step{.collected = {}, .error = {}, .tasks = {}, .key = key};
  for (const int64_t group : repairs) {
    const auto at = static_cast<size_t>(group);
    if (step.tasks.size() <= at) step.tasks.resize(at + 1);
    step.tasks[at].repair.emplace();
  }
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
                          : make_prompt(*task, settings_.stage, settings_.prompt_style, settings_.scaffold)});
  }
  return groups;
}

void ExperienceCollector::place(const std::vector<StepShare>& ranks, CollectedStep& step) const {
  step.shares.resize(static_cast<size_t>(placement_.trainers()));
  for (const StepShare& rank : ranks)
    for (const ExperienceShare& share : rank.experiences)
      step.shares[static_cast<size_t>(placement_.trainer_of(share.group))].push_back(share);
  for (std::vector<ExperienceShare>& shares : step.shares)
    std::sort(shares.begin(), shares.end(), [](const ExperienceShare& a, const ExperienceShare& b) {
      return std::tie(a.group, a.sample) < std::tie(b.group, b.sample);
    });
}

void ExperienceCollector::take_over(CollectedStep& step) const {
  std::vector<ResponseEntry> generated;
  for (const ResponseEntry& entry : step.entries)
    if (is_mine(entry.group)) generated.push_back(entry);
  HandedOver mine = hand_over(step.experiences, generated, placement_, control_);
  step.experiences = std::move(mine.experiences);
  // Both are in the order of groups and samples.
  auto next = mine.entries.begin();
  for (ResponseEntry& entry : step.entries)
    if (next != mine.entries.end() && entry.group == next->group) entry = std::move(*next++);
}

CollectedStep ExperienceCollector::share(GeneratedStep generated) {
  CollectedResponses& collected = generated.collected;
  CollectedStep step;
  StepShare mine;
  if (generated.error.empty() && !collected.interrupted)
    mine = score(collected, generated.tasks, generated.key, step);
  mine.sums.count({.confirmed = static_cast<double>(collected.confirmed),
                   .generated_tokens = static_cast<double>(collected.decoding.generated_tokens),
                   .forwards = static_cast<double>(collected.decoding.forwards)});
  mine.error = generated.error;
  mine.interrupted = collected.interrupted;
  if (ledger_) mine.ledger_lines = ledger_->unshared();
  std::vector<StepShare> ranks = exchange(std::move(mine), control_);
  step.interrupted =
      std::any_of(ranks.begin(), ranks.end(), [](const auto& rank) { return rank.interrupted; });
  step.figures = figures_of(ranks);
  if (step.interrupted) return step;
  std::vector<std::string> ledger_lines;
  place(ranks, step);
  for (const GroupShare* group : groups_in_order(ranks)) {
    if (group->task_outcome) step.task_outcomes.push_back(*group->task_outcome);
    if (group->group_outcome) step.group_outcomes.push_back(*group->group_outcome);
  }
  for (StepShare& rank : ranks) {
    ledger_lines.push_back(std::move(rank.ledger_lines));
    UnverifiedCount& unverified = step.unverified.emplace_back();
    for (const GroupShare& group : rank.groups) {
      unverified.responses += static_cast<int64_t>(group.sums[Sum::kAsked]);
      unverified.unverified += static_cast<int64_t>(group.sums[Sum::kLost]);
    }
    std::move(rank.entries.begin(), rank.entries.end(), std::back_inserter(step.entries));
  }
  if (ledger_) ledger_->end_round(ledger_lines);
  std::stable_sort(step.entries.begin(), step.entries.end(),
                   [](const ResponseEntry& a, const ResponseEntry& b) { return a.group < b.group; });
  if (placement_.is_split()) take_over(step);
  step.rollout_seconds = collected.rollout_seconds;
  step.verify_wait_seconds = collected.verify_wait_seconds;
  step.verifier_queue = collected.verifier_queue;
  return step;
}

std::vector<Reward> ExperienceCollector::rewards_of(const std::vector<VerifiedResponse>& responses) const {
  std::vector<Reward> rewards;
  for (const VerifiedResponse& response : responses)
    if (settings_.has_verdicts)
      rewards.push_back(reward_.evaluate(response.verdict.value_or(Verdict{}), response.rollout.truncated()));
    else
      rewards.push_back({.value = 0, .masked = true, .mask_reason = "not verified", .terms = {}});
  return rewards;
}

GroupAdvantage ExperienceCollector::advantage_of(const std::vector<VerifiedResponse>& responses,
                                                 const std::vector<Reward>& rewards, size_t first,
                                                 uint64_t key) const {
  const auto begin = rewards.begin() + static_cast<std::ptrdiff_t>(first);
  GroupAdvantage group = group_advantage(settings_.advantage, {begin, begin + settings_.samples_per_task},
                                         reward_.min_deviation(), settings_.advantage_k);
  if (settings_.shuffled_advantages)
    shuffle_advantages(
        group, mix_key({mix_key(key, kShuffleStream), static_cast<uint64_t>(responses[first].group)}));
  return group;
}

std::optional<GroupReward> ExperienceCollector::group_reward(ResponseSpan group,
                                                             std::span<const Reward> rewards, double mean,
                                                             uint64_t key) const {
  std::vector<size_t> counted;
  std::optional<size_t> best;
  for (size_t i = 0; i < group.size(); ++i) {
    if (rewards[i].masked) continue;
    counted.push_back(i);
    const bool right = group[i].verified() && group[i].verdict->correct && !group[i].rollout.truncated();
    if (right && (!best || rewards[i].value > rewards[*best].value)) best = i;
  }
  if (counted.empty()) return std::nullopt;
  GroupReward told{.task_id = group.front().task->id, .stage = settings_.stage, .mean = mean};
  double reward = best ? rewards[*best].value : 0;
  if (settings_.shuffled_advantages) {
    // A control must not learn from rewards by this way, either: any member, and all tasks alike.
    RandomStream draw(mix_key({mix_key(key, kShuffleStream), static_cast<uint64_t>(group[0].group), 1}));
    best = counted[draw.below(counted.size())];
    if (group[*best].rollout.truncated()) best.reset();  // there is no end to imitate
    told.mean = 0;
    reward = 1;
  }
  if (best) told.best = {.reward = reward, .tokens = response_tokens(group[*best].rollout)};
  return told;
}

StepShare ExperienceCollector::score(CollectedResponses& collected, const std::vector<PromptedTask>& tasks,
                                     uint64_t key, CollectedStep& step) const {
  StepShare mine;
  std::vector<VerifiedResponse>& responses = collected.responses;
  const std::vector<Reward> rewards = rewards_of(responses);
  const auto group_size = static_cast<size_t>(settings_.samples_per_task);
  for (size_t first = 0; first < responses.size(); first += group_size) {
    const ResponseSpan members = ResponseSpan(responses).subspan(first, group_size);
    const auto members_rewards = std::span(rewards).subspan(first, group_size);
    const GroupAdvantage group = advantage_of(responses, rewards, first, key);
    GroupShare& told = mine.groups.emplace_back();
    told.group = members.front().group;
    for (size_t i = 0; i < group_size; ++i) {
      const VerifiedResponse& response = members[i];
      const Reward& reward = rewards[first + i];
      add_response(response, reward, mine, told);
      mine.entries.push_back(entry_of(response, reward, group.advantages[i]));
      if (response.verdict && response.verdict->outcome == Outcome::kInfrastructure)
        step.masked.push_back({.group = response.group,
                               .sample = response.sample,
                               .key = response.verdict_key,
                               .straggled = response.straggled,
                               .verdict = *response.verdict});
      if (group.weights[i] > 0)
        step.experiences.push_back({.group = response.group,
                                    .sample = response.sample,
                                    .rollout = response.rollout,
                                    .reward = reward.value,
                                    .advantage = group.advantages[i]});
    }
    const auto index = static_cast<size_t>(told.group);
    const bool is_repair = index < tasks.size() && tasks[index].repair;
    told.sums.count({.is_repair = is_repair,
                     .has_equal_rewards = group.state == GroupState::kZeroVariance,
                     .has_too_few = group.state == GroupState::kTooFew,
                     .distinct_correct_programs = distinct_correct_programs(members)});
    // How a task fares when a failure is shown says nothing of how it fares by itself.
    if (!is_repair)
      told.task_outcome =
          task_outcome_of(members, members_rewards, group, reward_.needs_verdict(/*truncated=*/true));
    GroupOutcome outcome = group_outcome_of(members, settings_.stage);
    if (settings_.imitates) outcome.reward = group_reward(members, members_rewards, group.mean, key);
    if (outcome.reward) outcome.reward->repair = is_repair;
    if (!outcome.empty()) told.group_outcome = std::move(outcome);
  }
  mine.experiences = shares_of(step.experiences);
  for (VerifiedResponse& response : responses)
    step.rollouts.push_back({.group = response.group, .rollout = std::move(response.rollout)});
  return mine;
}

}  // namespace bicrl
