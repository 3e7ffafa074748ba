#include "report/group_choice.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "common/error.h"

namespace bicrl::report {
namespace {

struct GroupSummary {
  size_t number = 0;
  GroupRange range;
  double reward_mean = 0, reward_spread = 0, best_speedup = 0, best_advantage = 0;
};

// Responses whose texts can be shown, or all where there are no texts at all.
class Readable {
 public:
  explicit Readable(const KeptPlaces& kept) : kept_(kept) {}
  bool has(const ResponseEntry& r) const {
    return kept_.is_empty() || kept_.may_have({r.row, r.group, r.sample});
  }
  bool has_any(const ResponseTable& table, GroupRange range) const {
    return std::any_of(table.responses.begin() + static_cast<ptrdiff_t>(range.begin),
                       table.responses.begin() + static_cast<ptrdiff_t>(range.end),
                       [&](const ResponseEntry& r) { return has(r); });
  }

 private:
  const KeptPlaces& kept_;
};

GroupSummary summary_of(const ResponseTable& table, size_t number, GroupRange range, const Readable& texts) {
  GroupSummary summary{.number = number, .range = range};
  const double n = static_cast<double>(range.end - range.begin);
  for (size_t i = range.begin; i < range.end; ++i) {
    summary.reward_mean += table.responses[i].reward;
    if (!texts.has(table.responses[i])) continue;
    summary.best_speedup = std::max(summary.best_speedup, table.verdict_of(table.responses[i]).speedup);
    summary.best_advantage = std::max<double>(summary.best_advantage, table.responses[i].advantage);
  }
  summary.reward_mean /= n;  // at the end: of equal rewards it is the reward, without rounding
  for (size_t i = range.begin; i < range.end; ++i)
    summary.reward_spread += std::pow(table.responses[i].reward - summary.reward_mean, 2) / n;
  summary.reward_spread = std::sqrt(summary.reward_spread);
  return summary;
}

// Groups with why they are taken, a few per reason in turn until the limit is met.
class Choice {
 public:
  explicit Choice(size_t limit) : limit_(limit) {}
  void take(size_t group, const std::string& reason) {
    const auto found = reasons_.find(group);
    if (found == reasons_.end() && reasons_.size() >= limit_) return;
    std::vector<std::string>& reasons = reasons_[group];
    if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(reason);
  }
  const std::map<size_t, std::vector<std::string>>& reasons() const { return reasons_; }

 private:
  size_t limit_;
  std::map<size_t, std::vector<std::string>> reasons_;
};

void take_first(std::vector<GroupSummary> groups, size_t count, const std::string& reason,
                const std::function<double(const GroupSummary&)>& key, Choice& choice) {
  std::ranges::stable_sort(groups, std::ranges::greater(), key);
  for (size_t i = 0; i < std::min(count, groups.size()); ++i) choice.take(groups[i].number, reason);
}

// Without groups of which the reason does not hold.
void take_first_above_zero(std::vector<GroupSummary> groups, size_t count, const std::string& reason,
                           const std::function<double(const GroupSummary&)>& key, Choice& choice) {
  std::erase_if(groups, [&](const GroupSummary& group) { return key(group) <= 0; });
  take_first(std::move(groups), count, reason, key, choice);
}

void take_faults(const ResponseTable& table, const std::vector<GroupSummary>& groups, const Readable& texts,
                 size_t count, Choice& choice) {
  std::map<std::string, std::vector<size_t>> newest;  // groups by fault class, the newest last
  for (const GroupSummary& group : groups)
    for (size_t i = group.range.begin; i < group.range.end; ++i) {
      const std::string& outcome = table.verdict_of(table.responses[i]).outcome;
      if (outcome == "correct" || outcome == kNoVerdict || !texts.has(table.responses[i])) continue;
      std::vector<size_t>& of_class = newest[outcome];
      if (of_class.empty() || of_class.back() != group.number) of_class.push_back(group.number);
    }
  for (size_t back = 1; back <= count; ++back)
    for (const auto& [outcome, of_class] : newest)
      if (of_class.size() >= back) choice.take(of_class[of_class.size() - back], "fault: " + outcome);
}

// Both ends of each movement. Phases may have different rewards, so a task moves within one.
void take_movers(const ResponseTable& table, const StepTable& steps, const std::vector<GroupSummary>& groups,
                 size_t count, Choice& choice) {
  struct Ends {
    const GroupSummary* first = nullptr;
    const GroupSummary* last = nullptr;
    double change() const { return last->reward_mean - first->reward_mean; }
  };
  std::map<std::pair<int64_t, int32_t>, Ends> tasks;  // by the phase's first row and the task
  for (const GroupSummary& group : groups) {
    const ResponseEntry& response = table.responses[group.range.begin];
    Ends& ends = tasks[{steps.phase_of(response.row).begin, response.task}];
    if (!ends.first) ends.first = &group;
    ends.last = &group;
  }
  std::vector<Ends> moved;
  for (const auto& [task, ends] : tasks)
    if (ends.change() != 0) moved.push_back(ends);
  std::ranges::stable_sort(moved, std::ranges::greater(), [](const Ends& e) { return std::abs(e.change()); });
  for (size_t i = 0; i < std::min(count, moved.size()); ++i) {
    const std::string reason = moved[i].change() > 0 ? "task improved most" : "task fell most";
    choice.take(moved[i].first->number, reason + ": before");
    choice.take(moved[i].last->number, reason + ": after");
  }
}

}  // namespace

std::vector<ChosenGroup> choose_groups(const ResponseTable& table, const StepTable& steps, size_t limit,
                                       const KeptPlaces& kept) {
  const std::vector<GroupRange> ranges = groups_of(table);
  const Readable texts(kept);
  std::vector<GroupSummary> groups;
  for (size_t i = 0; i < ranges.size(); ++i)
    if (texts.has_any(table, ranges[i])) groups.push_back(summary_of(table, i, ranges[i], texts));
  if (groups.empty() && !kept.is_empty()) return choose_groups(table, steps, limit, {});
  Choice choice(limit);
  const size_t part = std::max<size_t>(1, limit / 6);
  take_first(
      groups, part, "newest", [](const GroupSummary& g) { return static_cast<double>(g.range.begin); },
      choice);
  take_first_above_zero(
      groups, part, "fastest kernel", [](const GroupSummary& g) { return g.best_speedup; }, choice);
  take_faults(table, groups, texts, 2, choice);
  take_first_above_zero(
      groups, part, "widest spread of rewards", [](const GroupSummary& g) { return g.reward_spread; },
      choice);
  take_movers(table, steps, groups, part, choice);
  take_first_above_zero(
      groups, 1, "largest advantage", [](const GroupSummary& g) { return g.best_advantage; }, choice);
  take_first(
      groups, part, "lowest reward", [](const GroupSummary& g) { return -g.reward_mean; }, choice);
  take_first(
      groups, part, "highest reward", [](const GroupSummary& g) { return g.reward_mean; }, choice);
  std::vector<ChosenGroup> chosen;
  for (const auto& [number, reasons] : choice.reasons()) {
    const ResponseEntry& first = table.responses[ranges[number].begin];
    chosen.push_back({.row = first.row, .group = first.group, .range = ranges[number], .reasons = reasons});
  }
  return chosen;
}

}  // namespace bicrl::report
