// Compares what a candidate produced with what the reference answered. Pure functions.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/trace.h"

namespace bicrl {

struct Tolerance {
  double atol = 1e-2;
  double rtol = 1e-2;
};

struct Comparison {
  std::string fault_class;     // empty if equal within tolerance; else "wrong_value" or "non_finite"
  double max_error_ratio = 0;  // largest |error| / (atol + rtol*|expected|)
};

// Empty if both values have the same structure, shapes and dtypes (strides do not count); else the first
// difference, for a person.
std::string structure_difference(const nlohmann::json& returned, const nlohmann::json& expected);

// One draw: `outputs` as `layout` says, `expected` one contiguous tensor for each leaf. Both have the same
// structure.
Comparison compare_outputs(const OutputLayout& layout, std::string_view outputs,
                           const std::vector<std::string>& expected, const Tolerance& tolerance);

// True if the two draws hold the same values within `tolerance`, or the same non-finite ones.
bool outputs_agree(const OutputLayout& layout, std::string_view a, std::string_view b,
                   const Tolerance& tolerance);

}  // namespace bicrl
