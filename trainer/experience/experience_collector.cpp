#include "trainer/experience/experience_collector.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "common/clock.h"
#include "trainer/experience/experience_exchange.h"

namespace bicrl {
namespace {

// Every turn of a trained episode is trained, with the episode's reward and advantage. Calls
// visit(episode, number of the turn, its rollout).
template <class Visit>
void for_each_trained_turn(const std::vector<Episode>& episodes, Visit visit) {
  for (const Episode& episode : episodes) {
    if (!episode.is_trained) continue;
    int64_t number = 0;
    for (const Turn& turn : episode.turns) visit(episode, number++, turn.rollout);
  }
}

std::vector<Experience> experiences_of(const std::vector<Episode>& episodes) {
  std::vector<Experience> experiences;
  for_each_trained_turn(episodes, [&](const Episode& episode, int64_t turn, const Rollout& rollout) {
    experiences.push_back({.group = episode.key.group,
                           .sample = episode.key.sample,
                           .turn = turn,
                           .rollout = rollout,
                           .reward = episode.reward.value,
                           .advantage = episode.advantage});
  });
  return experiences;
}

// What a step gets of a rank's rounds; what else is counted of them is in the rank's reports.
void append(CollectedResponses& all, CollectedResponses round) {
  std::move(round.episodes.begin(), round.episodes.end(), std::back_inserter(all.episodes));
  all.generation_seconds += round.generation_seconds;
  all.verify_wait_seconds += round.verify_wait_seconds;
  all.verifier_queue += round.verifier_queue;
}

}  // namespace

bool SharedStep::is_interrupted() const { return std::ranges::any_of(ranks, &RankStepReport::interrupted); }

int64_t SharedStep::groups() const { return static_cast<int64_t>(groups_in_order(ranks).size()); }

int64_t SharedStep::informative_groups() const {
  return std::ranges::count_if(groups_in_order(ranks),
                               [](const GroupReport* group) { return group->sums[Sum::kInformative] > 0; });
}

std::vector<UnverifiedCount> SharedStep::unverified() const {
  std::vector<UnverifiedCount> counts;
  for (const RankStepReport& rank : ranks) {
    UnverifiedCount& unverified = counts.emplace_back();
    for (const GroupReport& group : rank.groups) {
      unverified.responses += static_cast<int64_t>(group.sums[Sum::kAsked]);
      unverified.unverified += static_cast<int64_t>(group.sums[Sum::kLost]);
    }
  }
  return counts;
}

GeneratedStep ExperienceCollector::generate(const std::vector<PromptedTask>& tasks, uint64_t key,
                                            int64_t policy_version, const StepPlace& place,
                                            int64_t first_group) {
  GeneratedStep generated;
  const GroupScorer scorer(reward_, settings_.scoring, key);
  generated.error = error_of([&] {
    generated.collected = responses_.collect(
        own_groups(tasks, first_group), settings_.samples_per_task, key, policy_version, place,
        [&](std::span<Episode> group) { generated.groups.push_back(scorer.score(group)); });
  });
  return generated;
}

CollectedStep ExperienceCollector::collect_saved(std::vector<Episode> saved, const std::vector<Task>& tasks,
                                                 uint64_t key, const StepPlace& place,
                                                 const std::vector<std::string>& verdict_keys) {
  if (!verdict_keys.empty() && verdict_keys.size() != saved.size())
    throw InputError(concat("saved rollouts: ", saved.size(), " responses, and ", verdict_keys.size(),
                            " verdicts were noted"));
  for (size_t i = 0; i < verdict_keys.size(); ++i) saved[i].last().counted_key = verdict_keys[i];
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
  GeneratedStep step;
  const GroupScorer scorer(reward_, settings_.scoring, key);
  step.error = error_of([&] {
    step.collected = responses_.verify(
        std::move(own), [&](std::span<Episode> group) { step.groups.push_back(scorer.score(group)); });
  });
  return share(std::move(step));
}

std::vector<PromptedGroup> ExperienceCollector::own_groups(const std::vector<PromptedTask>& tasks,
                                                           int64_t first_group) const {
  std::vector<PromptedGroup> groups;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const int64_t index = first_group + static_cast<int64_t>(i);
    if (!is_mine(index)) continue;
    const auto& [task, repair] = tasks[i];
    groups.push_back(
        {.index = index,
         .task = task,
         .prompt =
             repair ? make_repair_prompt(*task, settings_.scoring.stage, settings_.prompt_style,
                                         settings_.scaffold, *repair)
                    : make_prompt(*task, settings_.scoring.stage, settings_.prompt_style, settings_.scaffold),
         .repair = repair.has_value()});
  }
  return groups;
}

void ExperienceCollector::place(const std::vector<RankStepReport>& ranks, CollectedStep& step) const {
  step.shares.resize(static_cast<size_t>(placement_.trainers()));
  for (const RankStepReport& rank : ranks)
    for (const ExperienceKey& share : rank.experiences)
      step.shares[static_cast<size_t>(placement_.trainer_of(share.group))].push_back(share);
  for (std::vector<ExperienceKey>& shares : step.shares)
    std::sort(shares.begin(), shares.end(), [](const ExperienceKey& a, const ExperienceKey& b) {
      return std::tie(a.group, a.sample, a.turn) < std::tie(b.group, b.sample, b.turn);
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

void ExperienceCollector::share(GeneratedStep generated, SharedStep& step) {
  const Stopwatch watch;
  std::vector<RankStepReport> round = exchange(report_of(generated), control_);
  step.exchange_seconds += watch.seconds();
  std::vector<std::string> ledger_lines;
  for (RankStepReport& rank : round) ledger_lines.push_back(std::move(rank.ledger_lines));
  step.ranks.resize(round.size());
  for (size_t rank = 0; rank < round.size(); ++rank) append(step.ranks[rank], std::move(round[rank]));
  append(step.own, std::move(generated.collected));
  ++step.rounds;
  if (ledger_ && !step.is_interrupted()) ledger_->end_round(ledger_lines);
}

CollectedStep ExperienceCollector::finish(SharedStep shared) {
  CollectedStep step;
  step.interrupted = shared.is_interrupted();
  step.figures = figures_of(shared.ranks);
  if (step.interrupted) return step;
  place(shared.ranks, step);
  for (const GroupReport* group : groups_in_order(shared.ranks)) {
    if (group->sums[Sum::kInformative] > 0) step.informative.insert(group->group);
    if (group->task_outcome) step.task_outcomes.push_back(*group->task_outcome);
    if (group->group_outcome) step.group_outcomes.push_back(*group->group_outcome);
  }
  step.unverified = shared.unverified();
  for (RankStepReport& rank : shared.ranks)
    std::move(rank.log.begin(), rank.log.end(), std::back_inserter(step.log));
  std::ranges::sort(step.log, {}, [](const Episode& e) { return std::pair(e.key.group, e.key.sample); });
  step.generated = std::move(shared.own.episodes);
  if (placement_.is_split())
    take_over(step);
  else
    step.experiences = experiences_of(step.generated);
  step.rollout_seconds = shared.own.generation_seconds;
  step.verify_wait_seconds = shared.own.verify_wait_seconds;
  step.verifier_queue = shared.own.verifier_queue;
  step.exchange_seconds = shared.exchange_seconds;
  return step;
}

RankStepReport ExperienceCollector::report_of(const GeneratedStep& generated) const {
  const CollectedResponses& collected = generated.collected;
  RankStepReport mine;
  mine.error = generated.error;
  mine.interrupted = collected.is_interrupted;
  if (ledger_) mine.ledger_lines = ledger_->unshared();
  double forwards = 0;
  for (const Episode& episode : collected.episodes)
    for (const Turn& turn : episode.turns) forwards += static_cast<double>(turn.rollout.denoise_steps);
  mine.sums.count({.confirmed = static_cast<double>(collected.confirmed),
                   .generated_tokens = static_cast<double>(collected.decoding.generated_tokens),
                   .forwards = forwards});
  if (!mine.error.empty() || mine.interrupted) return mine;
  mine.groups = generated.groups;
  for (const Episode& episode : collected.episodes) mine.log.push_back(without_tokens(episode));
  for_each_trained_turn(
      collected.episodes, [&](const Episode& episode, int64_t turn, const Rollout& rollout) {
        mine.experiences.push_back(key_of(episode.key.group, episode.key.sample, turn, rollout));
      });
  return mine;
}

}  // namespace bicrl
