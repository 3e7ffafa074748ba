// Layout of a `train` or `sft` run over its ranks and their memory, decided before it starts. Values that the
// settings leave open are chosen, and a run that does not fit is refused.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "trainer/ranks/control_plane.h"
#include "trainer/run/checkpoints/run_state.h"
#include "trainer/run/layout/placement_trial.h"
#include "trainer/run/run_inputs.h"
#include "trainer/run/run_settings.h"

namespace bicrl {

struct RunLayout {
  RunSettings settings;  // with what is chosen
  Placement placement;
  std::string memory;  // the budget's table
};

// Collective. `generators`: of a placement that the run's steps have chosen. Throws InputError if it does not
// fit.
RunLayout lay_out(RunSettings settings, const RunInputs& inputs, ControlPlane& control, int generators = 0);

// With `placement: auto` what the steps before this checkpoint have decided, for as many ranks.
std::optional<PlacementDecision> decided_before(const RunSettings& settings,
                                                const std::filesystem::path& checkpoint,
                                                const ControlPlane& control);

// Collective: what decides where ranks generate; none where there is nothing to decide.
std::optional<PlacementTrial> placement_trial(const RunSettings& settings, const RunInputs& inputs,
                                              ControlPlane& control);

}  // namespace bicrl
