#include "sandbox/interpreter/executor/run_races.h"

#include <algorithm>

#include "sandbox/interpreter/races/race_taint.h"

namespace bicrl {

std::optional<ptx::KernelFault> RunRaces::fault(
    const Execution& run, const std::function<std::optional<ptx::KernelFault>(ptx::Observer*)>& again) const {
  if (!any()) return std::nullopt;
  if (detector_.words().complete) {
    races::RaceTaint taint(detector_.words());
    if (!again(&taint)) return std::nullopt;
  }
  return to_fault(run);
}

std::optional<ptx::KernelFault> RunRaces::behind_uninitialised(
    const Execution& run, const std::function<std::optional<ptx::KernelFault>(ptx::Observer*)>& again) const {
  if (!any() || !detector_.words().complete) return std::nullopt;
  races::RaceTaint written(detector_.words(), races::RaceTaint::Mark::kDefined);
  if (again(&written)) return std::nullopt;
  return to_fault(run);
}

// The one that says most: updates without atomic operations show as other pairs as well.
ptx::KernelFault RunRaces::to_fault(const Execution& run) const {
  const auto& races = detector_.races();
  const auto updates =
      std::find_if(races.begin(), races.end(), [](const races::Race& race) { return race.updates; });
  const races::Race& race = updates == races.end() ? races.front() : *updates;
  return races::to_fault(race, race.in_shared ? "" : run.buffer_name(race.address));
}

}  // namespace bicrl
