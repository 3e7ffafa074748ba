#include "rollout/acceptance.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "common/error.h"

namespace bicrl {
namespace {

// Number of masked positions of the same block that go before each position: [blocks, b] int64. Comparing all
// pairs of a block needs no sort, so equal confidences have one order on every device.
at::Tensor rank_by_confidence(const at::Tensor& confidence, const at::Tensor& masked) {
  const int64_t b = confidence.size(1);
  const at::Tensor mine = confidence.unsqueeze(2), other = confidence.unsqueeze(1);
  const at::Tensor index = at::arange(b, masked.options().dtype(at::kLong));
  const at::Tensor earlier = index.unsqueeze(0) < index.unsqueeze(1);  // [b, b]: other before mine
  const at::Tensor before = (other > mine).logical_or((other == mine).logical_and(earlier));
  return before.logical_and(masked.unsqueeze(1)).sum(2);
}

}  // namespace

const std::vector<std::string>& acceptance_strategy_names() {
  static const std::vector<std::string> kNames = {"low_confidence_static", "low_confidence_dynamic",
                                                  "sequential"};
  return kNames;
}

AcceptanceStrategy parse_acceptance_strategy(const std::string& name) {
  const auto& names = acceptance_strategy_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw InputError(concat("unknown acceptance strategy: ", name));
  return static_cast<AcceptanceStrategy>(found - names.begin());
}

int64_t acceptance_quota(int64_t block_size, int64_t steps, int64_t step) {
  BICRL_CHECK(steps >= 1 && steps <= block_size && step >= 0 && step < steps, "step ", step, " of ", steps,
              " for a block of ", block_size);
  return block_size / steps + (step < block_size % steps ? 1 : 0);
}

at::Tensor accept(const AcceptanceSettings& settings, const at::Tensor& confidence, const at::Tensor& masked,
                  const at::Tensor& quotas) {
  const at::Tensor quota = quotas.unsqueeze(1);
  if (settings.strategy == AcceptanceStrategy::kSequential) {
    return masked.logical_and(masked.cumsum(1) <= quota);
  }
  const at::Tensor best = masked.logical_and(rank_by_confidence(confidence, masked) < quota);
  if (settings.strategy == AcceptanceStrategy::kLowConfidenceStatic) return best;
  const at::Tensor sure = masked.logical_and(confidence > settings.threshold);
  return at::where(sure.sum(1, /*keepdim=*/true) < quota, best, sure);
}

}  // namespace bicrl
