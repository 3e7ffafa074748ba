#include "trainer/run/idle_steps.h"

#include <algorithm>
#include <cmath>

#include "common/error.h"

namespace bicrl {
namespace {

int64_t count_of(double rate, const ResponseMetrics& step) {
  return std::llround(rate * static_cast<double>(step.responses));
}

}  // namespace

std::string IdleSteps::note(const ResponseMetrics& step) {
  if (step.groups == 0 || step.zero_variance_groups + step.too_few_groups < step.groups) {
    *this = {};
    return "";
  }
  ++steps_;
  responses_ += step.responses;
  for (const auto& [name, number] : step.fault_classes) outcomes_[concat("fault '", name, "'")] += number;
  outcomes_["cut off by the token limit"] += count_of(step.truncated_rate, step);
  outcomes_["without a verdict"] += count_of(step.infrastructure_rate, step);
  outcomes_["correct"] += count_of(step.correct_rate, step);
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
