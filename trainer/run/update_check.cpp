#include "trainer/run/update_check.h"

#include <algorithm>
#include <cmath>

#include "common/error.h"

namespace bicrl {

std::string update_problem(const UpdateStatistics& update, double max_loss) {
  constexpr double kMaxWeight = 1e6;  // no weight of a policy that works comes near this
  const bool finite = std::isfinite(update.loss) && update.largest_weight <= kMaxWeight &&
                      update.skipped_updates < std::max<int64_t>(1, update.updates);
  if (finite && std::abs(update.loss) <= max_loss) return "";
  return concat(finite ? concat("the loss exceeds run.max_loss (", max_loss, ")")
                       : "the update is not finite or destroys the policy",
                " (loss ", update.loss, ", gradient norm ", update.grad_norm, ", largest weight ",
                update.largest_weight,
                "). A smaller learning rate may help; the latest checkpoint is from before.");
}

}  // namespace bicrl
