// How much memory training takes for a policy's parameters on each rank. Activations, logits and the
// rollout's key/value cache depend on the work and are not part of it. Plain values; thread-safe.
#pragma once
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>

#include "policy/policy_config.h"
#include "trainer/update/sharding.h"

namespace bicrl {

struct TrainingMemory {
  int64_t weights_bytes = 0;    // all of them, as they are between updates; sharded ones a shard more
  int64_t gradients_bytes = 0;  // their fp32 sum, whole or a shard, and what a pass has on its way to it
  int64_t optimizer_bytes = 0;  // AdamW's two fp32 moments, and fp32 values of low-precision weights
  int64_t exchange_bytes = 0;   // what of other ranks is on its way here
  int64_t total_bytes() const { return weights_bytes + gradients_bytes + optimizer_bytes + exchange_bytes; }
};

// For policies of fp32 and of lower precision.
TrainingMemory training_memory(const PolicyConfig& config, c10::ScalarType dtype, Sharding sharding = {},
                               int ranks = 1);

// What is wrong, with the numbers, if so many ranks of one host do not fit into its memory; else empty.
std::string memory_problem(const TrainingMemory& memory, int ranks_on_host, int64_t host_bytes);

}  // namespace bicrl
