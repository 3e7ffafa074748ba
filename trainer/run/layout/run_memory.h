// The memory budget of a run, from its settings and inputs, before anything large is made; and what a rank
// has used. Free functions; thread-safe.
#pragma once
#include <c10/core/Device.h>

#include <cstdint>

#include "trainer/run/run_inputs.h"
#include "trainer/run/run_settings.h"
#include "trainer/update/memory/memory_budget.h"

namespace bicrl {

// The largest pieces of work of all phases of a rank that trains, generates or does both. Packs are counted
// as if the longest sequences filled them: a prompt as the longest of the tasks, and a response up to its
// limit.
struct RunWork {
  struct Generation {
    DecodingSettings decoding;
    RequestedResponses requested;
  };
  std::vector<PassShape> passes;
  std::vector<Generation> generations;
  bool has_reference = false;  // a copy of the weights
};
RunWork work_of_run(const RunSettings& settings, const RunInputs& inputs, const Placement& placement,
                    int rank);

// The largest budget of that.
MemoryBudget budget_of_run(const RunSettings& settings, const RunWork& work, const Placement& placement,
                           int rank);
inline MemoryBudget budget_of_run(const RunSettings& settings, const RunInputs& inputs,
                                  const Placement& placement, int rank) {
  return budget_of_run(settings, work_of_run(settings, inputs, placement, rank), placement, rank);
}
// Of these settings, with what AdamW's state, gradients and parameters are divided by.
TrainingMemory held_by_rank(const RunSettings& settings, const Placement& placement, int rank);
PassMemory largest_pass(const RunSettings& settings, const RunWork& work, int64_t* rows = nullptr);
// `cache_tokens`: at most, where the settings name none; 0: no limit.
DecodingMemory largest_decoding(const RunSettings& settings, const RunWork& work, int64_t cache_tokens = 0);

// What the device has in all: a GPU's memory, or what this process may hold of the host's.
int64_t memory_limit_bytes(at::Device device);
// Gives back to a GPU what the allocator keeps for tensors to come: before anything beside tensors takes
// memory there.
void return_unused_memory(at::Device device);
// The most that this process has used so far: tensors on a GPU (the allocator's peak), or the process's
// resident memory (VmHWM of /proc/self/status); 0: not known.
int64_t memory_peak_bytes(at::Device device);

}  // namespace bicrl
