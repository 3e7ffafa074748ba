// Estimate of the memory that training takes for a policy's parameters on each rank, and of a checkpoint's
// copy on its host. Memory that depends on the work is not part of it: memory_budget.h has all of it. Plain
// values; thread-safe.
#pragma once
#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string>

#include "policy/lora_config.h"
#include "policy/policy_config.h"
#include "trainer/update/sharding.h"

namespace bicrl {

struct TrainingMemory {
  int64_t weights_bytes = 0;    // with adapters, as they are between updates; sharded ones a shard more
  int64_t absent_bytes = 0;     // of these, while a pass runs
  int64_t gradients_bytes = 0;  // their fp32 sum, whole or a shard
  int64_t optimizer_bytes = 0;  // AdamW's two fp32 moments, and fp32 values of low-precision weights
  int64_t exchange_bytes = 0;   // what of other ranks is on its way here
  int64_t total_bytes() const { return weights_bytes + gradients_bytes + optimizer_bytes + exchange_bytes; }

  // In host memory, of whatever device: the copy that a checkpoint is written from while training goes on.
  int64_t first_copy_bytes = 0;                    // rank 0's: the weights and its part of AdamW's state
  int64_t other_copy_bytes = 0;                    // another rank's: its part, if the state is divided
  int64_t copies_bytes(int ranks_on_host) const {  // on rank 0's host
    return first_copy_bytes + (ranks_on_host - 1) * other_copy_bytes;
  }
};

// For policies of fp32 and of lower precision. With adapters only these have gradients and optimizer state.
// Ranks exchange over MPI on the CPU, over NCCL on GPUs.
TrainingMemory training_memory(const PolicyConfig& config, c10::ScalarType dtype, Sharding sharding = {},
                               int ranks = 1, const std::optional<LoraConfig>& lora = {},
                               c10::DeviceType device = c10::DeviceType::CPU);

// What is wrong, with the numbers, if so many ranks of one host, and their copies, do not fit into its
// memory; else empty.
std::string memory_problem(const TrainingMemory& memory, int ranks_on_host, int64_t host_bytes);

}  // namespace bicrl
