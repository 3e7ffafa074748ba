// How a run of `train` or `sft` is laid out over its ranks and their memory before it starts: what settings
// leave open is chosen, and what does not fit is refused.
#pragma once
#include <string>

#include "trainer/inputs/run_inputs.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/run/run_settings.h"

namespace bicrl {

struct RunLayout {
  RunSettings settings;  // with what is chosen
  Placement placement;
  std::string memory;  // the budget's table
};

// Collective. Throws InputError if it does not fit.
RunLayout lay_out(RunSettings settings, const RunInputs& inputs, ControlPlane& control);

}  // namespace bicrl
