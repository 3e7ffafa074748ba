#include "episode/rescore.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <utility>

#include "common/error.h"
#include "episode/episode_pipeline.h"
#include "episode/group_scorer.h"

namespace bicrl {
namespace {

using Group = std::span<const Episode>;

Verdict verdict_of(const Episode& episode) { return episode.last().verdict.value_or(Verdict{}); }

// By step, in the order in which these first occur. Groups are adjacent, as the pipeline scores them.
std::vector<std::vector<Episode>> split(std::vector<Episode> episodes) {
  std::vector<std::vector<Episode>> steps;
  std::map<StepPlace, size_t> places;
  for (Episode& episode : episodes) {
    const auto [place, is_new] = places.emplace(episode.key.place, steps.size());
    if (is_new) steps.emplace_back();
    steps[place->second].push_back(std::move(episode));
  }
  for (std::vector<Episode>& step : steps)
    std::ranges::stable_sort(step, {}, [](const Episode& episode) { return episode.key.group; });
  return steps;
}

std::vector<Reward> rewards_of(Group group, const RewardFunction* reward) {
  std::vector<Reward> rewards;
  for (const Episode& episode : group)
    rewards.push_back(reward ? reward_of(episode, *reward) : episode.reward);
  return rewards;
}

// Mean and spread of what is added, without storing it.
struct Moments {
  int64_t count = 0;
  double mean = 0;
  double squares = 0;  // sum of squared distances from the mean
  void add(double value) { merge({.count = 1, .mean = value, .squares = 0}); }
  void merge(const Moments& other) {
    if (other.count == 0) return;
    const auto mine = static_cast<double>(count), theirs = static_cast<double>(other.count);
    const double apart = other.mean - mean, whole = mine + theirs;
    mean += apart * theirs / whole;
    squares += other.squares + apart * apart * mine * theirs / whole;
    count += other.count;
  }
  double spread() const { return count ? std::sqrt(squares / static_cast<double>(count)) : 0; }
};

void count_group(StepScore& score, const GroupAdvantage& group) {
  ++score.groups;
  score.zero_variance_groups += group.state == GroupState::kZeroVariance;
  score.too_few_groups += group.state == GroupState::kTooFew;
}

int sign(double value) { return (value > 0) - (value < 0); }

// Counts a step's groups under one scoring.
struct Side {
  const Scoring& scoring;
  StepScore score = {};
  Moments moments = {};

  std::vector<double> advantages(Group members) {
    const std::vector<Reward> rewards = rewards_of(members, scoring.reward);
    for (const Reward& reward : rewards)
      if (!reward.masked) moments.add(reward.value);
    GroupAdvantage group = group_advantage(scoring.advantage, rewards, scoring.min_deviation());
    count_group(score, group);
    return std::move(group.advantages);
  }

  StepScore finished() const {
    StepScore result = score;
    result.rewarded = moments.count;
    result.mean = moments.mean;
    result.spread = moments.spread();
    return result;
  }
};

// Runs the pipeline with its scoring stage alone, which scores each group twice.
StepComparison compare(std::vector<Episode> step, const Scoring& before, const Scoring& after) {
  StepComparison result;
  result.phase = step.front().key.place.phase;
  result.step = step.front().key.place.step;
  result.responses = std::ssize(step);
  Side old_side{before}, new_side{after};
  int64_t changed = 0, opposed = 0;
  const auto score = [&](Group group) {
    const std::vector<double> olds = old_side.advantages(group), news = new_side.advantages(group);
    for (size_t i = 0; i < group.size(); ++i) {
      changed += sign(olds[i]) != sign(news[i]);
      opposed += sign(olds[i]) * sign(news[i]) < 0;
    }
  };
  run_pipeline(std::move(step), {.score = score});
  result.before = old_side.finished();
  result.after = new_side.finished();
  result.changed_sign = static_cast<double>(changed) / static_cast<double>(result.responses);
  result.opposed = static_cast<double>(opposed) / static_cast<double>(result.responses);
  return result;
}

void add(StepScore& total, const StepScore& step) {
  const auto moments = [](const StepScore& s) {
    return Moments{s.rewarded, s.mean, s.spread * s.spread * static_cast<double>(s.rewarded)};
  };
  Moments merged = moments(total);
  merged.merge(moments(step));
  total.rewarded = merged.count;
  total.mean = merged.mean;
  total.spread = merged.spread();
  total.groups += step.groups;
  total.zero_variance_groups += step.zero_variance_groups;
  total.too_few_groups += step.too_few_groups;
}

StepComparison whole_phase(const std::vector<const StepComparison*>& steps) {
  StepComparison total;
  double changed = 0, opposed = 0;
  for (const StepComparison* step : steps) {
    total.responses += step->responses;
    changed += step->changed_sign * static_cast<double>(step->responses);
    opposed += step->opposed * static_cast<double>(step->responses);
    add(total.before, step->before);
    add(total.after, step->after);
  }
  total.changed_sign = changed / static_cast<double>(total.responses);
  total.opposed = opposed / static_cast<double>(total.responses);
  return total;
}

template <class... Args>
std::string formatted(const char* format, Args... args) {
  std::string text(static_cast<size_t>(std::snprintf(nullptr, 0, format, args...)), '\0');
  std::snprintf(text.data(), text.size() + 1, format, args...);
  return text;
}

std::string score_cells(const StepScore& score) {
  const std::string dropped = concat(score.zero_variance_groups + score.too_few_groups, "/", score.groups);
  return formatted(" | %8lld %9.4f %9.4f %9s", static_cast<long long>(score.rewarded), score.mean,
                   score.spread, dropped.c_str());
}

std::string line(const std::string& phase, const std::string& step, const StepComparison& row) {
  return formatted("%-14s %6s %9lld", phase.c_str(), step.c_str(), static_cast<long long>(row.responses)) +
         score_cells(row.before) + score_cells(row.after) +
         formatted(" | %7.1f%% %7.1f%%\n", 100 * row.changed_sign, 100 * row.opposed);
}

std::string heading() {
  const auto names = [](const char* side) {
    return formatted(" | %8s %9s %9s %9s", side, "mean", "spread", "dropped");
  };
  return formatted("%-14s %6s %9s", "phase", "step", "responses") + names("before") + names("after") +
         formatted(" | %8s %8s\n", "changed", "opposed");
}

}  // namespace

std::vector<StepComparison> rescore(std::vector<Episode> episodes, const Scoring& before,
                                    const Scoring& after) {
  std::vector<StepComparison> steps;
  for (std::vector<Episode>& step : split(std::move(episodes)))
    steps.push_back(compare(std::move(step), before, after));
  return steps;
}

std::vector<std::string> rescoring_gaps(std::span<const Episode> episodes, const RewardFunction& reward) {
  int64_t correct = 0, timed = 0, by_other_clock = 0, unverified = 0;
  for (const Episode& episode : episodes) {
    const Verdict verdict = verdict_of(episode);
    const bool counts = earns_correctness(verdict);
    const bool has_times = counts && verdict.speedup() > 0;
    correct += counts;
    timed += has_times;
    by_other_clock += has_times && verdict.clock != reward.clock();
    unverified += episode.is_truncated() && reward.needs_verdict(true) && !episode.last().is_verified();
  }
  std::vector<std::string> gaps;
  if (reward.uses_times() && timed < correct)
    gaps.push_back(concat(correct - timed, " of ", correct, " correct responses were not timed: the rule '",
                          reward.rule_name(), "' gives them nothing for speed"));
  if (reward.uses_times() && by_other_clock > 0)
    gaps.push_back(concat(by_other_clock, " of ", correct,
                          " correct responses were timed by another clock than '", reward.clock(),
                          "', which the reward wants: it gives them nothing for speed"));
  for (const FigureNeed& need : reward.figure_needs())
    if (std::ranges::none_of(episodes,
                             [&](const Episode& e) { return is_reported(verdict_of(e), need.figure); }))
      gaps.push_back(concat(need.place, ": has no effect: no stored verdict ", to_string(need.figure)));
  if (unverified > 0)
    gaps.push_back(concat(unverified,
                          " truncated responses have no verdict: they stay left out, though the "
                          "reward scores truncated responses"));
  return gaps;
}

std::string rescore_table(const std::vector<StepComparison>& steps) {
  std::string text = heading();
  std::vector<std::string> phases;
  std::map<std::string, std::vector<const StepComparison*>> by_phase;
  for (const StepComparison& step : steps) {
    text += line(step.phase, std::to_string(step.step), step);
    if (by_phase[step.phase].empty()) phases.push_back(step.phase);
    by_phase[step.phase].push_back(&step);
  }
  for (const std::string& phase : phases)
    if (by_phase[phase].size() > 1) text += line(phase, "all", whole_phase(by_phase[phase]));
  return text;
}

}  // namespace bicrl
