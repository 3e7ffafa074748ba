#include "trainer/experience/experience_collector.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <unordered_map>

#include "common/hash.h"
#include "common/rng.h"

namespace bicrl {
namespace {

constexpr std::string_view kShuffleStream = "shuffled_advantages";

using ResponseSpan = std::span<const VerifiedResponse>;

// The share of a group's responses that are correct; none without a verdict.
std::optional<TaskOutcome> task_outcome_of(ResponseSpan group) {
  const auto verified = std::count_if(group.begin(), group.end(), [](const auto& r) { return r.verified(); });
  const auto correct = std::count_if(group.begin(), group.end(),
                                     [](const auto& r) { return r.verified() && r.verdict->correct; });
  if (verified == 0) return std::nullopt;
  return TaskOutcome{group.front().task->id, static_cast<double>(correct) / static_cast<double>(verified)};
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

void add_response(const VerifiedResponse& response, const Reward& reward, StepShare& share) {
  ResponseSums& sums = share.sums;
  const bool task_fault = response.verdict && response.verdict->outcome == Outcome::kTaskFault;
  const bool lost = response.verdict && !response.verified() && !task_fault;
  sums.responses += 1;
  sums.truncated += response.rollout.truncated();
  sums.compiled += response.verdict && response.verdict->compiled;
  sums.correct += response.verdict && response.verdict->correct;
  if (const double speedup = response.verdict ? trusted_speedup(*response.verdict, /*native_only=*/true) : 0;
      speedup > 0 && response.verdict->correct) {
    ++sums.timed;
    sums.log_speedup += std::log(speedup);
    sums.faster += speedup > 1;
  }
  sums.masked += reward.masked;
  sums.task_faults += task_fault;
  sums.infrastructure += lost;
  if (lost && share.infrastructure_reason.empty())
    share.infrastructure_reason = response.verdict->diagnostics;
  if (!reward.masked) {
    sums.rewarded += 1;
    sums.reward += reward.value;
    sums.reward_squares += reward.value * reward.value;
    for (const RewardTerm& term : reward.terms) share.reward_terms[term.name] += term.value;
  }
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

CollectedStep ExperienceCollector::collect(const std::vector<PromptedTask>& tasks, uint64_t key,
                                           int64_t policy_version) {
  CollectedResponses collected;
  const std::string error = error_of([&] {
    collected = responses_.collect(own_groups(tasks), settings_.samples_per_task, key, policy_version);
  });
  return share(std::move(collected), error, tasks, key);
}

CollectedStep ExperienceCollector::collect_saved(std::vector<SavedRollout> rollouts,
                                                 const std::vector<Task>& tasks, uint64_t key) {
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
  CollectedResponses collected;
  const std::string error = error_of([&] { collected = responses_.verify(std::move(own)); });
  return share(std::move(collected), error, {}, key);
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

CollectedStep ExperienceCollector::share(CollectedResponses collected, const std::string& error,
                                         const std::vector<PromptedTask>& tasks, uint64_t key) {
  CollectedStep step;
  StepShare mine;
  if (error.empty() && !collected.interrupted) mine = score(collected, tasks, key, step);
  mine.error = error;
  mine.interrupted = collected.interrupted;
  if (ledger_) mine.ledger_lines = ledger_->unshared();
  std::vector<StepShare> ranks = exchange(std::move(mine), control_);
  step.interrupted =
      std::any_of(ranks.begin(), ranks.end(), [](const auto& rank) { return rank.interrupted; });
  if (step.interrupted) return step;
  std::vector<std::string> ledger_lines;
  step.metrics = metrics_of(ranks);
  for (StepShare& rank : ranks) {
    ledger_lines.push_back(std::move(rank.ledger_lines));
    step.shares.push_back(std::move(rank.experiences));
    step.unverified.push_back(
        {static_cast<int64_t>(rank.sums.responses), static_cast<int64_t>(rank.sums.infrastructure)});
    std::move(rank.task_outcomes.begin(), rank.task_outcomes.end(), std::back_inserter(step.task_outcomes));
    std::move(rank.group_outcomes.begin(), rank.group_outcomes.end(),
              std::back_inserter(step.group_outcomes));
    std::move(rank.entries.begin(), rank.entries.end(), std::back_inserter(step.entries));
  }
  if (ledger_) ledger_->end_round(ledger_lines);
  std::stable_sort(step.entries.begin(), step.entries.end(),
                   [](const ResponseEntry& a, const ResponseEntry& b) { return a.group < b.group; });
  step.rollout_seconds = collected.rollout_seconds;
  step.verify_wait_seconds = collected.verify_wait_seconds;
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
                                         reward_.min_deviation());
  if (settings_.shuffled_advantages)
    shuffle_advantages(
        group, mix_key({mix_key(key, kShuffleStream), static_cast<uint64_t>(responses[first].group)}));
  return group;
}

StepShare ExperienceCollector::score(CollectedResponses& collected, const std::vector<PromptedTask>& tasks,
                                     uint64_t key, CollectedStep& step) const {
  StepShare mine;
  std::vector<VerifiedResponse>& responses = collected.responses;
  const std::vector<Reward> rewards = rewards_of(responses);
  const auto group_size = static_cast<size_t>(settings_.samples_per_task);
  for (size_t first = 0; first < responses.size(); first += group_size) {
    const ResponseSpan members = ResponseSpan(responses).subspan(first, group_size);
    const GroupAdvantage group = advantage_of(responses, rewards, first, key);
    mine.sums.groups += 1;
    mine.sums.zero_variance_groups += group.state == GroupState::kZeroVariance;
    mine.sums.too_few_groups += group.state == GroupState::kTooFew;
    for (size_t i = 0; i < group_size; ++i) {
      const VerifiedResponse& response = members[i];
      const Reward& reward = rewards[first + i];
      add_response(response, reward, mine);
      mine.entries.push_back(entry_of(response, reward, group.advantages[i]));
      if (group.weights[i] > 0)
        step.experiences.push_back({.group = response.group,
                                    .sample = response.sample,
                                    .rollout = response.rollout,
                                    .reward = reward.value,
                                    .advantage = group.advantages[i]});
    }
    const auto index = static_cast<size_t>(members.front().group);
    const bool is_repair = index < tasks.size() && tasks[index].repair;
    mine.sums.repairs += is_repair;
    // How a task fares when a failure is shown says nothing of how it fares by itself.
    if (const auto outcome = task_outcome_of(members); outcome && !is_repair)
      mine.task_outcomes.push_back(*outcome);
    if (GroupOutcome outcome = group_outcome_of(members, settings_.stage); !outcome.empty())
      mine.group_outcomes.push_back(std::move(outcome));
  }
  mine.sums.quarantined = static_cast<double>(collected.confirmed);
  mine.sums.generated_tokens = static_cast<double>(collected.decoding.generated_tokens);
  mine.sums.forwards = static_cast<double>(collected.decoding.forwards);
  mine.experiences = shares_of(step.experiences);
  for (VerifiedResponse& response : responses)
    step.rollouts.push_back({.group = response.group, .rollout = std::move(response.rollout)});
  return mine;
}

}  // namespace bicrl
