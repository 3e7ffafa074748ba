#include "rollout/decoding/acceptance.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "common/error.h"
#include "policy/kernels.h"

namespace bicrl {
namespace {

// Which masked positions of the same block go before each position: [blocks, mine, other] bool. Comparing all
// pairs of a block needs no sort, so equal scores have one order on every device.
at::Tensor goes_before(const at::Tensor& score, const at::Tensor& masked) {
  const int64_t b = score.size(1);
  const at::Tensor mine = score.unsqueeze(2), other = score.unsqueeze(1);
  const at::Tensor index = at::arange(b, masked.options().dtype(at::kLong));
  const at::Tensor earlier = index.unsqueeze(0) < index.unsqueeze(1);  // [b, b]: other left of mine
  const at::Tensor before = (other > mine).logical_or((other == mine).logical_and(earlier));
  return before.logical_and(masked.unsqueeze(1));
}

}  // namespace

const std::vector<std::string>& acceptance_strategy_names() {
  static const std::vector<std::string> kNames = {"low_confidence_static", "low_confidence_dynamic",
                                                  "sequential", "entropy_bounded", "random"};
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

at::Tensor accept(const AcceptanceSettings& settings, const at::Tensor& score, const at::Tensor& masked,
                  const at::Tensor& quotas) {
  // Sums of entropies in another order than the operators' could fall on another side of the bound.
  if (!score.is_cpu() || settings.strategy == AcceptanceStrategy::kEntropyBounded)
    return accept_by_operators(settings, score, masked, quotas);
  const bool dynamic = settings.strategy == AcceptanceStrategy::kLowConfidenceDynamic;
  // With equal scores the best are the leftmost.
  const at::Tensor scores =
      settings.strategy == AcceptanceStrategy::kSequential ? at::zeros_like(score) : score.contiguous();
  const at::Tensor open = masked.contiguous(), quota = quotas.contiguous();
  at::Tensor accepted = at::empty_like(open);
  kernels::accept_by_score_cpu(
      {.blocks = scores.size(0),
       .block_size = scores.size(1),
       .score = scores.const_data_ptr<float>(),
       .masked = static_cast<const uint8_t*>(open.const_data_ptr()),
       .quotas = quota.const_data_ptr<int64_t>(),
       .threshold = dynamic ? static_cast<float>(settings.threshold) : std::numeric_limits<float>::infinity(),
       .accepted = static_cast<uint8_t*>(accepted.mutable_data_ptr())});
  return accepted;
}

at::Tensor accept_by_operators(const AcceptanceSettings& settings, const at::Tensor& score,
                               const at::Tensor& masked, const at::Tensor& quotas) {
  const at::Tensor quota = quotas.unsqueeze(1);
  if (settings.strategy == AcceptanceStrategy::kSequential) {
    return masked.logical_and(masked.cumsum(1) <= quota);
  }
  const at::Tensor before = goes_before(score, masked);
  const at::Tensor best = masked.logical_and(before.sum(2) < quota);
  if (settings.strategy == AcceptanceStrategy::kLowConfidenceDynamic) {
    const at::Tensor sure = masked.logical_and(score > settings.threshold);
    return at::where(sure.sum(1, /*keepdim=*/true) < quota, best, sure);
  }
  if (settings.strategy == AcceptanceStrategy::kEntropyBounded) {
    const at::Tensor entropy = score.neg();
    const at::Tensor sum = entropy + (before * entropy.unsqueeze(1)).sum(2);  // its own and those before it
    return best.logical_or(masked.logical_and(sum <= settings.entropy_bound));
  }
  return best;
}

}  // namespace bicrl
