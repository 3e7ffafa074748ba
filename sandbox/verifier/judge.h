// Compares what a candidate produced with what the reference answers. Pure functions.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/recorder/trace/trace.h"
#include "verdict/fault/fault_class.h"
#include "verdict/verification_request.h"

namespace bicrl {

// One output tensor of the reference on one test input, contiguous.
struct ExpectedLeaf {
  // Floating point: the fp64 answer, float64 if the output is and else rounded to float32. Integers and
  // booleans: the answer in its own type.
  std::string center;
  // Floating point: a float32 for each element, infinite if anything goes. Else a byte: 1 if the element may
  // differ, because it changes under jitters of the inputs.
  std::string allowance;
  std::string allowance_tf32;  // empty unless the oracle was asked for it
  uint64_t bytes() const { return center.size() + allowance.size() + allowance_tf32.size(); }
};

// Whether the leaf's strings are as long as a tensor of this type and size needs them.
bool fits(const ExpectedLeaf& leaf, DType dtype, uint64_t elements);

struct Comparison {
  std::optional<FaultClass> fault_class;  // none: equal within tolerance; else kWrongValue or kNonFinite
  double max_error_ratio = 0;             // largest |error| / allowance; 1 is the limit
};

// Empty if both values have the same structure, shapes and dtypes (strides do not count); else the first
// difference, for a person.
std::string structure_difference(const nlohmann::json& returned, const nlohmann::json& expected);

// One leaf: `outputs` are its bytes.
Comparison compare_leaf(const OutputLayout::Leaf& leaf, std::string_view outputs,
                        const ExpectedLeaf& expected, TolerancePolicy policy);

// One test input: `outputs` as `layout` says, `expected` one entry for each leaf. Both have the same
// structure.
Comparison compare_outputs(const OutputLayout& layout, std::string_view outputs,
                           const std::vector<ExpectedLeaf>& expected, TolerancePolicy policy);

// How many elements that no kernel wrote differ from the reference's answer, rounded to the output's type.
// `written`: a byte for each element of all leaves, one leaf after the other; 0: no kernel wrote it.
uint64_t unwritten_differences(const OutputLayout& layout, std::string_view outputs,
                               const std::vector<ExpectedLeaf>& expected, std::span<const uint8_t> written);

}  // namespace bicrl
