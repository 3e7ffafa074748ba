#include "trainer/run/idle_steps.h"

#include <algorithm>
#include <cmath>

#include "common/error.h"

namespace bicrl {
namespace {

int64_t count_of(Sum sum, const StepFigures& step) { return std::llround(step.sums[sum]); }

}  // namespace

std::string IdleSteps::note(const StepFigures& step) {
  const bool teaches = step.sums[Sum::kInformative] > 0 || step.sums[Sum::kSurplusTaken] > 0;
  if (step.sums[Sum::kGroups] == 0 || teaches) {
    *this = {};
    return "";
  }
  ++steps_;
  responses_ += count_of(Sum::kResponses, step);
  for (const auto& [name, number] : step.fault_classes) outcomes_[concat("fault '", name, "'")] += number;
  outcomes_["cut off by the token limit"] += count_of(Sum::kTruncated, step);
  outcomes_["without a verdict"] += count_of(Sum::kLost, step);
  outcomes_["of a task that can never be graded"] += count_of(Sum::kInvalidTask, step);
  outcomes_["undecided"] += count_of(Sum::kUndecided, step);
  outcomes_["correct"] += count_of(Sum::kCorrect, step);
  if (steps_ < warn_at_) return "";
  warn_at_ *= 2;
  const auto commonest =
      std::ranges::max_element(outcomes_, [](const auto& a, const auto& b) { return a.second < b.second; });
  return concat("no group of the last ", steps_,
                " steps taught anything: within each, all rewards were equal or fewer than two counted. The "
                "commonest outcome of their ",
                responses_, " responses: ", commonest->first, " (", commonest->second, ")");
}

}  // namespace bicrl
