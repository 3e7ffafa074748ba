// Acceptance of a block's masked positions in a denoise step, for all active blocks at once and on their
// device. Pure functions; thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace bicrl {

enum class AcceptanceStrategy {
  kLowConfidenceStatic,   // the quota's most confident positions
  kLowConfidenceDynamic,  // all above the threshold; if those are fewer than the quota, the most confident
                          // ones
  kSequential,            // the quota's leftmost positions
  kEntropyBounded,  // from the lowest entropy on while their sum stays within the bound; at least the quota
  kRandom           // the quota's positions by lot
};

// Exactly a quota of positions is accepted; by the others at least that many.
constexpr bool accepts_by_quota(AcceptanceStrategy strategy) {
  return strategy == AcceptanceStrategy::kLowConfidenceStatic ||
         strategy == AcceptanceStrategy::kSequential || strategy == AcceptanceStrategy::kRandom;
}

// Names as in configuration files: "low_confidence_static", ...
const std::vector<std::string>& acceptance_strategy_names();
AcceptanceStrategy parse_acceptance_strategy(const std::string& name);  // throws InputError

struct AcceptanceSettings {
  AcceptanceStrategy strategy = AcceptanceStrategy::kLowConfidenceDynamic;
  double threshold = 0.9;       // of the dynamic strategy, a probability
  double entropy_bound = 0.35;  // of the entropy-bounded strategy, in nats
  bool operator==(const AcceptanceSettings&) const = default;
};

// Positions that step `step` (from 0) of a block takes when `steps` steps share its `block_size` positions:
// the first steps take the remainder.
int64_t acceptance_quota(int64_t block_size, int64_t steps, int64_t step);

// score: [blocks, block_size] fp32, by strategy the candidate's confidence, minus the entropy of its
// position's distribution, or a lot (kSequential has no use for it; ignored if not masked). masked:
// [blocks, block_size] bool. quotas: [blocks] int64. Returns [blocks, block_size] bool, within masked. Of
// equal scores the lowest position goes first.
at::Tensor accept(const AcceptanceSettings& settings, const at::Tensor& score, const at::Tensor& masked,
                  const at::Tensor& quotas);
// The same by torch's operators: on devices without a kernel for it, and what kernels are checked against.
at::Tensor accept_by_operators(const AcceptanceSettings& settings, const at::Tensor& score,
                               const at::Tensor& masked, const at::Tensor& quotas);

}  // namespace bicrl
