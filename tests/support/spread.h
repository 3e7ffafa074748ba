// Spread of measured values: their coefficient of variation.
#pragma once
#include <cmath>
#include <span>

namespace bicrl::testing {

// Standard deviation over mean; 0 of fewer than two.
inline double coefficient_of_variation(std::span<const double> values) {
  if (values.size() < 2) return 0;
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1)) / mean;
}

}  // namespace bicrl::testing
