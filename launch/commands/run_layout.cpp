#include "launch/commands/run_layout.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/log.h"
#include "trainer/run/layout/memory_plan.h"

namespace bicrl {
namespace {

// The budget's table. Throws InputError if it does not fit. Ranks of a host share its memory; each has a GPU
// of its own.
std::string required_memory(const RunSettings& settings, const RunInputs& inputs, const ControlPlane& control,
                            const Placement& placement) {
  const at::Device device = policy_device(settings.policy, control.local_rank());
  const int64_t limit_bytes = memory_limit_bytes(device);
  const MemoryBudget budget = budget_of_run(settings, inputs, placement, control.rank());
  const int ranks = device.is_cpu() ? control.ranks_on_host() : 1;
  const std::string held = device.is_cpu() ? memory_problem(budget.held, ranks, limit_bytes) : std::string();
  const std::string problem =
      !held.empty() ? held
                    : budget.problem(ranks, device.is_cpu() ? budget.held.copies_bytes(ranks) : 0,
                                     limit_bytes, device.is_cpu() ? "the host" : "the GPU");
  if (!problem.empty()) throw InputError(problem);
  return budget.table(limit_bytes);
}

// Collective: of the device with the least of it.
int64_t least_memory_bytes(const RunSettings& settings, ControlPlane& control) {
  int64_t least = memory_limit_bytes(policy_device(settings.policy, control.local_rank()));
  for (const int64_t other : all_gather_values(control, least)) least = std::min(least, other);
  return least;
}

// Sequences at a time on a rank, in the first stage that has steps: as many as the plan's cache has room for.
int64_t active_sequences(const StageSettings& stage, const MemoryPlan& plan) {
  const double share = stage.decoding.cache_tokens == 0 ? plan.cache_share : 1;
  return std::max<int64_t>(1, std::llround(share * static_cast<double>(stage.decoding.max_active)));
}

// Those for which the memory suffices.
std::vector<PossibleSplit> possible_splits(const RunSettings& settings, const RunInputs& inputs, int ranks,
                                           int64_t least_bytes, const StageSettings& stage,
                                           const MemoryPlan& colocated) {
  std::vector<PossibleSplit> possible;
  for (int generators = 1; generators < ranks; ++generators) {
    RunSettings split = settings;
    split.trainer.generator_ranks = generators;
    const auto plan = fitting_plan(split, inputs, split.trainer.placement(ranks), least_bytes);
    if (!plan) continue;
    possible.push_back(
        {.generators = generators,
         .max_active = active_sequences(stage, *plan),
         .training_cost = update_cost(*plan, ranks - generators) / update_cost(colocated, ranks)});
  }
  return possible;
}

}  // namespace

RunLayout lay_out(RunSettings settings, const RunInputs& inputs, ControlPlane& control, int generators) {
  if (generators > 0) settings.trainer.generator_ranks = generators;
  const Placement placement = settings.trainer.placement(control.size());
  const MemoryPlan plan = plan_memory(settings, inputs, placement, least_memory_bytes(settings, control));
  const std::string chosen = plan_text(settings, placement, plan);
  if (control.rank() == 0 && settings.policy.device != "cpu" && !chosen.empty()) log_info(chosen);
  settings = with_plan(std::move(settings), plan);
  std::string memory = required_memory(settings, inputs, control, placement);
  return {std::move(settings), placement, std::move(memory)};
}

std::optional<PlacementDecision> decided_before(const RunSettings& settings,
                                                const std::filesystem::path& checkpoint,
                                                const ControlPlane& control) {
  if (!settings.trainer.chooses_placement || checkpoint.empty()) return std::nullopt;
  const std::optional<PlacementDecision> decision = read_run_state(checkpoint).placement;
  return decision && decision->ranks == control.size() ? decision : std::nullopt;
}

std::optional<PlacementTrial> placement_trial(const RunSettings& settings, const RunInputs& inputs,
                                              ControlPlane& control) {
  const auto stage = std::ranges::find_if(settings.stages, [](const auto& each) { return each.steps > 0; });
  if (!settings.trainer.chooses_placement || settings.trainer.max_staleness == 0 || control.size() == 1 ||
      settings.replay.parts != RunParts::kWhole || stage == settings.stages.end())
    return std::nullopt;
  const int64_t least_bytes = least_memory_bytes(settings, control);
  const MemoryPlan colocated =
      plan_memory(settings, inputs, settings.trainer.placement(control.size()), least_bytes);
  return PlacementTrial(possible_splits(settings, inputs, control.size(), least_bytes, *stage, colocated),
                        active_sequences(*stage, colocated));
}

}  // namespace bicrl
