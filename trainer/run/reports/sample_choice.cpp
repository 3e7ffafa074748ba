#include "trainer/run/reports/sample_choice.h"

#include <algorithm>
#include <map>
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

}  // namespace

std::vector<size_t> choose_samples(const std::vector<Episode>& episodes, int64_t step, int64_t most) {
  std::set<size_t> chosen;
  const auto take = [&](size_t index) {
    if (std::ssize(chosen) < most) chosen.insert(index);
  };
  size_t best = episodes.size();
  std::map<std::string, size_t> failures;  // the first of each class
  for (size_t i = 0; i < episodes.size(); ++i) {
    const Episode& episode = episodes[i];
    if (episode.last().rollout.text.empty()) continue;
    if (!episode.reward.masked &&
        (best == episodes.size() || episode.reward.value > episodes[best].reward.value))
      best = i;
    if (const std::string failure = failure_of(episode); !failure.empty()) failures.try_emplace(failure, i);
  }
  const bool begins_with_failure = most == 1 && step % 2 == 0 && !failures.empty();
  if (best < episodes.size() && !begins_with_failure) take(best);
  auto next = failures.begin();
  const int64_t turn = most == 1 ? step / 2 : step;
  if (!failures.empty()) std::advance(next, turn % std::ssize(failures));
  for (size_t i = 0; i < failures.size(); ++i) {
    take(next->second);
    if (++next == failures.end()) next = failures.begin();
  }
  std::set<int64_t> groups;
  for (const size_t index : chosen) groups.insert(episodes[index].key.group);
  for (size_t i = 0; i < episodes.size(); ++i)
    if (!episodes[i].last().rollout.text.empty() && groups.insert(episodes[i].key.group).second) take(i);
  return {chosen.begin(), chosen.end()};
}

}  // namespace bicrl
