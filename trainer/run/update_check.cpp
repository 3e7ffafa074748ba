#include "trainer/run/update_check.h"

#include <cmath>

#include "common/error.h"

namespace bicrl {

std::string update_problem(const UpdateStatistics& update, double max_loss) {
  constexpr double kMaxWeight = 1e6;  // no weight of a policy that works comes near this
  // An update whose gradient was not finite was not made, and its loss says nothing.
  const bool skipped = update.skipped_updates > 0;
  const bool finite = std::isfinite(update.loss) && std::isfinite(update.imitation_loss);
  const bool healthy = update.largest_weight <= kMaxWeight && (skipped || finite);
  const auto is_small = [max_loss](double loss) {
    return !std::isfinite(loss) || std::abs(loss) <= max_loss;
  };
  const bool small = is_small(update.loss) && is_small(update.imitation_loss);
  if (healthy && small) return "";
  return concat(
      healthy ? concat("the loss exceeds run.max_loss (", max_loss, ")") : "the update destroys the policy",
      " (loss ", update.loss, ", gradient norm ", update.grad_norm,
      update.imitation_updates > 0
          ? concat(", of imitation ", update.imitation_loss, " and ", update.imitation_grad_norm)
          : "",
      ", largest weight ", update.largest_weight,
      "). A smaller learning rate may help; the latest checkpoint is from before.");
}

}  // namespace bicrl
