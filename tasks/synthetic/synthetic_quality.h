// Tells good chains of operators from others by arithmetic on N(0, 1) samples: a task is worth having only if
// its outputs are finite, vary, are not its input, and depend on every one of its operators by more than the
// verifier's tolerance. Pure functions.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tasks/synthetic/synthetic_module.h"

namespace bicrl {

struct QualityLimits {
  double max_magnitude = 40.0;       // of any intermediate value
  double min_deviation = 0.05;       // standard deviation of the output
  double max_common_share = 0.55;    // of outputs that hold one and the same value
  double min_difference = 0.05;      // that leaving one operator out must make ...
  double min_different_share = 0.2;  // ... to this share of the outputs
};

// Empty if the chain is good, else why not. `column_counts`: widths of the samples to try.
std::string chain_problem(const std::vector<ChainStep>& chain, std::span<const int> column_counts,
                          const QualityLimits& limits = {});

// Equal for chains that compute the same function, up to rounding, and different for others: a hash of their
// outputs on samples, to four digits. relu behind abs is abs, and two chains can differ in nothing but that.
uint64_t function_key(const std::vector<ChainStep>& chain);

}  // namespace bicrl
