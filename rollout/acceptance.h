// Which masked positions of a block are accepted in a denoise step, for all active blocks at once and on
// their device. Pure functions; thread-safe.
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
  kSequential             // the quota's leftmost positions
};

// Names as in configuration files: "low_confidence_static", ...
const std::vector<std::string>& acceptance_strategy_names();
AcceptanceStrategy parse_acceptance_strategy(const std::string& name);  // throws InputError

struct AcceptanceSettings {
  AcceptanceStrategy strategy = AcceptanceStrategy::kLowConfidenceDynamic;
  double threshold = 0.9;  // of the dynamic strategy
};

// Positions that step `step` (from 0) of a block takes when `steps` steps share its `block_size` positions:
// the first steps take the remainder.
int64_t acceptance_quota(int64_t block_size, int64_t steps, int64_t step);

// confidence: [blocks, block_size] fp32 (ignored where not masked), masked: [blocks, block_size] bool,
// quotas: [blocks] int64. Returns [blocks, block_size] bool, within masked. Of equal confidences the lowest
// position goes first.
at::Tensor accept(const AcceptanceSettings& settings, const at::Tensor& confidence, const at::Tensor& masked,
                  const at::Tensor& quotas);

}  // namespace bicrl
