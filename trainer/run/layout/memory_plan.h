// Plan of the parts of a run's layout that follow from its GPUs' memory. They are how far training is divided
// among ranks, what a backward pass recomputes, and how large the key/value cache is. Both phases of a rank,
// generation and updates, count against one budget. Plain values and pure functions; thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "trainer/run/layout/run_memory.h"

namespace bicrl {

struct MemoryPlan {
  Sharding sharding;
  Recompute recompute = Recompute::kNone;
  // Of a rank that generates, where the settings name no limit; 0: what the settings ask for.
  int64_t cache_tokens = 0;
  // Of the cache that the settings ask for, in the use that needs most of it.
  double cache_share = 1;
};

// The fastest form that fits ranks with a GPU of `limit_bytes` each, of those that the settings leave open;
// if none fits, the one that needs least. On the CPU nothing is divided, computed again or limited.
MemoryPlan plan_memory(const RunSettings& settings, const RunInputs& inputs, const Placement& placement,
                       int64_t limit_bytes);

// These settings with the plan's choices.
RunSettings with_plan(RunSettings settings, const MemoryPlan& plan);

// How long updates of so many ranks take with this plan, beside those of the fastest form.
double update_cost(const MemoryPlan& plan, int trainers);

// The placement's plan, if every rank fits with it and with what a GPU needs beside tensors.
std::optional<MemoryPlan> fitting_plan(const RunSettings& settings, const RunInputs& inputs,
                                       const Placement& placement, int64_t limit_bytes);

// For a person: each choice that the settings left open. Empty if they left none.
std::string plan_text(const RunSettings& settings, const Placement& placement, const MemoryPlan& plan);

}  // namespace bicrl
