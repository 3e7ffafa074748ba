#include "report/reward_falls.h"

#include <algorithm>
#include <cmath>

namespace bicrl::report {
namespace {

std::map<std::string, double> failure_changes(const StepTable& steps, int64_t before, int64_t after) {
  std::map<std::string, double> changes;
  for (const std::string& name : steps.members("fault_classes")) {
    const std::vector<double>& column = steps.columns.at("fault_classes." + name);
    const auto count = [&](int64_t row) {
      const double value = column[static_cast<size_t>(row)];
      return std::isfinite(value) ? value : 0;
    };
    if (const double change = count(after) - count(before); change != 0) changes[name] = change;
  }
  return changes;
}

}  // namespace

std::vector<RewardFall> largest_falls(const StepTable& steps, size_t most) {
  const auto found = steps.columns.find("reward_mean");
  std::vector<RewardFall> falls;
  if (found == steps.columns.end()) return falls;
  for (const PhaseSpan& phase : steps.phases) {
    int64_t before = -1;
    for (int64_t row = phase.begin; row < phase.end; ++row) {
      const double reward = found->second[static_cast<size_t>(row)];
      if (!std::isfinite(reward)) continue;
      const double last = before < 0 ? reward : found->second[static_cast<size_t>(before)];
      if (reward < last) falls.push_back({.before_row = before, .row = row, .before = last, .after = reward});
      before = row;
    }
  }
  std::ranges::stable_sort(falls, {}, [](const RewardFall& fall) { return fall.after - fall.before; });
  falls.resize(std::min(falls.size(), most));
  for (RewardFall& fall : falls) fall.failures = failure_changes(steps, fall.before_row, fall.row);
  return falls;
}

std::vector<size_t> largest_advantages(const ResponseTable& table, size_t most) {
  std::vector<size_t> indices;
  for (size_t i = 0; i < table.responses.size(); ++i)
    if (!table.responses[i].is_masked) indices.push_back(i);
  const auto is_before = [&](size_t a, size_t b) {
    const float left = table.responses[a].advantage, right = table.responses[b].advantage;
    return left == right ? a < b : left > right;
  };
  const size_t count = std::min(most, indices.size());
  std::partial_sort(indices.begin(), indices.begin() + static_cast<ptrdiff_t>(count), indices.end(),
                    is_before);
  indices.resize(count);
  return indices;
}

}  // namespace bicrl::report
