// How much memory training takes for a policy's parameters on each rank. Activations, logits and the
// rollout's key/value cache depend on the work and are not part of it. Plain values; thread-safe.
#pragma once
#include <c10/core/ScalarType.h>

#include <cstdint>

#include "policy/policy_config.h"

namespace bicrl {

struct TrainingMemory {
  int64_t weights_bytes = 0;
  int64_t gradients_bytes =
      0;  // of one pack, in the policy's type (a low-precision head's in fp32); their fp32 sum
  int64_t optimizer_bytes = 0;  // AdamW's two fp32 moments, and fp32 values of low-precision weights
  int64_t total_bytes() const { return weights_bytes + gradients_bytes + optimizer_bytes; }
};

// For policies of fp32 and of lower precision.
TrainingMemory training_memory(const PolicyConfig& config, c10::ScalarType dtype);

}  // namespace bicrl
