// Memory budget of one training rank, item by item, at the two moments at which it needs most: within a pass,
// and while it generates. On GPUs it counts tensors: the driver's and NCCL's own memory, and what the
// allocator keeps unused, come on top. Plain values and pure functions; thread-safe.
#pragma once
#include <cstdint>
#include <string>

#include "rollout/decoding_settings.h"
#include "trainer/update/memory/pass_memory.h"
#include "trainer/update/memory/training_memory.h"

namespace bicrl {

struct DecodingMemory {
  int64_t cache_bytes = 0;    // keys and values
  int64_t working_bytes = 0;  // of one forward (rollout/decoding/denoise_step.h)
  int64_t total_bytes() const { return cache_bytes + working_bytes; }
};
// What a rank generates at a time: `samples` responses to each of so many prompts of so many tokens.
struct RequestedResponses {
  int64_t prompts = 0, samples = 1, prompt_tokens = 0;
};
// Pages of the cache that the settings let the longest of them take: a prompt's once for its responses.
int64_t cache_pages(const PolicyConfig& config, const DecodingSettings& settings,
                    const RequestedResponses& requested);
DecodingMemory decoding_memory(const PolicyConfig& config, c10::Device device, c10::ScalarType dtype,
                               const DecodingSettings& settings, const RequestedResponses& requested);

struct MemoryBudget {
  TrainingMemory held;
  int64_t reference_bytes = 0;  // weights of the policy that KL is measured to
  int64_t pack_rows = 0;        // of the largest pack
  PassMemory pass;              // of that
  DecodingMemory decoding;      // zeros if nothing is generated

  int64_t training_bytes() const {
    return held.total_bytes() - held.absent_bytes + reference_bytes + pass.peak_bytes();
  }
  // All of the weights are there; also of runs that generate nothing.
  int64_t generating_bytes() const {
    return held.total_bytes() - held.exchange_bytes + reference_bytes + decoding.cache_bytes +
           decoding.working_bytes;
  }
  int64_t peak_bytes() const;

  // For a person: a line for each item, in GiB. `limit_bytes` is what the device has; 0: not known.
  std::string table(int64_t limit_bytes) const;
  // For a pack that needs more than there is beside what is held: the numbers and what to change.
  std::string pass_problem(int64_t there_is_bytes) const;
  // What is wrong, with the numbers and what to change, if so many ranks that share the memory, with
  // `beside_bytes` of something else, do not fit; else empty. `memory` names it.
  std::string problem(int ranks, int64_t beside_bytes, int64_t limit_bytes, const std::string& memory) const;
};

}  // namespace bicrl
