// The memory budget of a run, from its settings and inputs, before anything large is made; and what a rank
// has used. Free functions; thread-safe.
#pragma once
#include <c10/core/Device.h>

#include <cstdint>

#include "trainer/inputs/run_inputs.h"
#include "trainer/run/run_settings.h"
#include "trainer/update/memory/memory_budget.h"

namespace bicrl {

// The largest budget of all phases, of a rank that trains, generates or does both. Packs are counted as if
// the longest sequences filled them: a prompt as the longest of the tasks, and a response up to its limit.
MemoryBudget budget_of_run(const RunSettings& settings, const RunInputs& inputs, const Placement& placement,
                           int rank);

// What ranks with a GPU of `limit_bytes` each divide among them: the least that fits, since each stage sends
// more than the one before it; if none fits, all of it. On a CPU nothing: ranks share its memory.
Sharding sharding_that_fits(RunSettings settings, const RunInputs& inputs, const Placement& placement,
                            int64_t limit_bytes);

// What the device has in all: a GPU's memory, or the host's.
int64_t memory_limit_bytes(at::Device device);
// The most that this process has used so far: tensors on a GPU (the allocator's peak), or the process's
// resident memory (VmHWM of /proc/self/status); 0: not known.
int64_t memory_peak_bytes(at::Device device);

}  // namespace bicrl
