// Capacity of a decode engine, and the device memory that it takes. Plain values and free functions;
// thread-safe.
#pragma once
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <vector>

#include "policy/policy_config.h"
#include "rollout/decoding_settings.h"
#include "rollout/generation_request.h"

namespace bicrl {

struct EngineCapacity {
  int64_t sequences = 0;             // that generate at the same time
  int64_t pages = 0;                 // of the key/value cache
  int64_t prefill_tokens = 0;        // prompt tokens of one forward
  bool keeps_distributions = false;  // of all masked positions at once, for what is recorded of a step

  bool holds(const EngineCapacity& other) const {
    return sequences >= other.sequences && pages >= other.pages && prefill_tokens >= other.prefill_tokens &&
           keeps_distributions >= other.keeps_distributions;
  }
  // Of one forward: of each sequence a block to commit and one to denoise, beside the prompt tokens.
  int64_t max_rows(int64_t block_size) const {
    return (prefill_tokens > block_size ? prefill_tokens : block_size) + sequences * 2 * block_size;
  }
  EngineCapacity joined(const EngineCapacity& other) const;  // the larger of each
  bool operator==(const EngineCapacity&) const = default;
};
// Whether what is recorded of candidates is made of whole distributions (rollout/record/rejected_mass.h).
bool keeps_distributions(const DecodingSettings& settings);

// For these requests under these settings: pages for max_active of the longest ones, or cache_tokens if that
// is less. Those that need more positions than the policy has do not count, as they are refused.
EngineCapacity capacity_for(const std::vector<GenerationRequest>& requests, const PolicyConfig& config,
                            const DecodingSettings& settings);

// By torch's operators, of one forward in which `sequences` blocks are denoised before `keys` keys in all:
// logits and their copies, and a layer's gathered keys and values with their mask.
int64_t decoding_workspace_bytes(const PolicyConfig& config, c10::ScalarType dtype, int64_t sequences,
                                 int64_t keys);

struct EngineBudget {
  int64_t weights_bytes = 0;
  int64_t cache_pages = 0;
  int64_t cache_bytes = 0;
  int64_t workspace_bytes = 0;
  int64_t limit_bytes = 0;  // what there is for all three; 0: not known

  int64_t free_bytes() const { return limit_bytes - weights_bytes - cache_bytes - workspace_bytes; }
  // For a person: a line for each item, in GiB.
  std::string table() const;
};

// Of a device that keeps its tensors in memory of its own: what is free, or held for tensors to come, but for
// what its driver and libraries take; at least 1. 0 for the CPU: not known.
int64_t unused_device_bytes(at::Device device);

// Throws InputError with the table if a policy's weights alone are more than what is unused; before they are
// made, as an allocation that fails half-way says nothing of the whole. Nothing is checked for 0.
void check_weights_fit(const PolicyConfig& config, c10::ScalarType dtype, int64_t unused_bytes);

}  // namespace bicrl
