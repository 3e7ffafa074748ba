#include "trainer/run/reports/sample_choice.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace bicrl {
namespace {

// Empty if it is no failure of the program.
std::string failure_of(const Episode& episode) {
  const std::optional<Verdict>& verdict = episode.last().verdict;
  if (!verdict) return episode.is_truncated() ? "truncated" : "";
  return verdict->correct || !judges_program(verdict->outcome) ? "" : verdict->fault_class;
}

// Of the episodes that have a text.
struct Readable {
  std::optional<size_t> best{};
  std::map<std::string, size_t> failures{};  // the first of each class
  std::map<int64_t, size_t> groups{};        // the first of each group
};

Readable readable_of(const std::vector<Episode>& episodes) {
  Readable found;
  for (size_t i = 0; i < episodes.size(); ++i) {
    const Episode& episode = episodes[i];
    if (episode.last().rollout.text.empty()) continue;
    if (!episode.reward.masked && (!found.best || episode.reward.value > episodes[*found.best].reward.value))
      found.best = i;
    if (const std::string failure = failure_of(episode); !failure.empty())
      found.failures.try_emplace(failure, i);
    found.groups.try_emplace(episode.key.group, i);
  }
  return found;
}

}  // namespace

std::vector<size_t> choose_samples(const std::vector<Episode>& episodes, int64_t step, int64_t most) {
  std::set<size_t> chosen;
  const auto take = [&](size_t index) {
    if (std::ssize(chosen) < most) chosen.insert(index);
  };
  const auto [best, failures, first_of_group] = readable_of(episodes);
  const bool begins_with_failure = most == 1 && step % 2 == 0 && !failures.empty();
  if (best && !begins_with_failure) take(*best);
  auto next = failures.begin();
  const int64_t turn = most == 1 ? step / 2 : step;
  if (!failures.empty()) std::advance(next, turn % std::ssize(failures));
  for (size_t i = 0; i < failures.size(); ++i) {
    take(next->second);
    if (++next == failures.end()) next = failures.begin();
  }
  std::set<int64_t> groups;
  for (const size_t index : chosen) groups.insert(episodes[index].key.group);
  for (const auto& [group, index] : first_of_group)
    if (!groups.contains(group)) take(index);
  return {chosen.begin(), chosen.end()};
}

std::vector<size_t> sample_candidates(const std::vector<Episode>& episodes, int64_t most) {
  if (most == 0) return {};
  const auto [best, failures, first_of_group] = readable_of(episodes);
  std::set<size_t> candidates;
  if (best) candidates.insert(*best);
  // Whose turn it is follows from the classes of all parts.
  for (const auto& [failure, index] : failures) candidates.insert(index);
  // Of a group behind these, no sample is taken for the group's sake: each group before it has one.
  int64_t groups = 0;
  for (const auto& [group, index] : first_of_group)
    if (groups++ < most) candidates.insert(index);
  return {candidates.begin(), candidates.end()};
}

}  // namespace bicrl
