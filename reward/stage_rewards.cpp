#include "reward/stage_rewards.h"

#include <algorithm>

#include "common/hash.h"

namespace bicrl {
namespace fs = std::filesystem;

StageRewards::StageRewards(const fs::path& common, const std::vector<fs::path>& of_stages) {
  const auto add = [&](const fs::path& path) {
    functions_.push_back(RewardFunction::from_file(path));
    if (!functions_.back().uses_times()) return;
    if (const std::string before = clock(); before != functions_.back().clock())
      throw InputError(concat(path.string(), ": counts times by the clock '", functions_.back().clock(),
                              "', and ", timed_file_.string(), " by '", before,
                              "': a run's verifiers have one clock"));
    if (timed_file_.empty()) timed_file_ = path;
  };
  for (const fs::path& own : of_stages) add(own.empty() ? common : own);
  if (!functions_.empty()) return;
  if (!common.empty())
    add(common);
  else
    functions_.push_back(RewardFunction::from_text("rule: binary\n", "no reward file"));
}

bool StageRewards::uses_times() const { return !clock().empty(); }

std::string StageRewards::clock() const {
  const auto timed =
      std::ranges::find_if(functions_, [](const RewardFunction& reward) { return reward.uses_times(); });
  return timed == functions_.end() ? "" : timed->clock();
}

std::string StageRewards::basis(const RewardFunction& reward) { return hash_hex(reward.resolved_yaml()); }

bool StageRewards::differ() const {
  return std::ranges::any_of(functions_, [this](const RewardFunction& reward) {
    return reward.resolved_yaml() != first().resolved_yaml();
  });
}

std::string StageRewards::rule_names() const {
  std::vector<std::string> names;
  for (const RewardFunction& reward : functions_)
    if (std::ranges::find(names, reward.rule_name()) == names.end()) names.push_back(reward.rule_name());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string StageRewards::resolved_yaml() const {
  if (!differ()) return first().resolved_yaml();
  std::string text;
  for (size_t i = 0; i < functions_.size(); ++i)
    text += concat(i == 0 ? "" : "---\n", "# stages.", i, "\n", functions_[i].resolved_yaml());
  return text;
}

}  // namespace bicrl
