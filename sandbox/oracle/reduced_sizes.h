// A task at smaller sizes than its own: what sandbox/runtimes/sizes/ finds for a task whose inputs, answer or
// work are too large to be run here. Plain values.
#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sandbox/box/process/channel.h"
#include "sandbox/cost/operator_cost.h"

namespace bicrl {

struct OracleSpec;

// The rules by which variants are found, and what a verification takes of them: part of a verifier's name.
inline constexpr const char* kSizeVariantsVersion = "6";

struct SizeVariant {
  std::string code;      // the task's text with other constants
  std::string sizes;     // "M=37, N=2147": the constants that are others, for a person
  bool is_long = false;  // one axis is far longer than the others
  uint64_t input_bytes = 0, output_bytes = 0;
  double lane_operations = 0;  // of a run of an ordinary program, estimated
};

struct ReducedSizes {
  std::shared_ptr<const OracleSpec> own;  // of the task's own size, as far as a recording needs it
  nlohmann::json returned;                // spec of the reference's answer there
  uint64_t input_bytes = 0, output_bytes = 0, parameter_bytes = 0;  // there
  double lane_operations = 0;                                       // likewise
  ReferenceLaunches reference;                                      // likewise
  std::vector<SizeVariant> variants;                                // at least one
};

// From the frame of a box that was asked for "sizes" with that seed. Throws InputError or a JSON exception
// if it is none.
ReducedSizes read_reduced_sizes(Frame frame, int64_t init_seed);

}  // namespace bicrl
