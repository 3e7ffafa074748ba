#include "trainer/run/update_check.h"

#include <cmath>

#include "common/error.h"

namespace bicrl {

std::string update_problem(const UpdateStatistics& update, double max_loss) {
  constexpr double kMaxWeight = 1e6;  // no weight of a policy that works comes near this
  const double loss = update[UpdateRow::kLoss], imitation_loss = update[UpdateRow::kImitationLoss];
  // An update whose gradient was not finite was not made, and its loss says nothing.
  const bool skipped = update[UpdateRow::kSkippedUpdates] > 0;
  const bool finite = std::isfinite(loss) && std::isfinite(imitation_loss);
  const bool healthy = update[UpdateRow::kLargestWeight] <= kMaxWeight && (skipped || finite);
  const auto is_small = [max_loss](double value) {
    return !std::isfinite(value) || std::abs(value) <= max_loss;
  };
  const bool small = is_small(loss) && is_small(imitation_loss);
  if (healthy && small) return "";
  return concat(
      healthy ? concat("the loss exceeds run.max_loss (", max_loss, ")") : "the update destroys the policy",
      " (loss ", loss, ", gradient norm ", update[UpdateRow::kGradNorm],
      update[UpdateRow::kImitationUpdates] > 0
          ? concat(", of imitation ", imitation_loss, " and ", update[UpdateRow::kImitationNorm])
          : "",
      ", largest weight ", update[UpdateRow::kLargestWeight],
      "). A smaller learning rate may help; the latest checkpoint is from before.");
}

}  // namespace bicrl
