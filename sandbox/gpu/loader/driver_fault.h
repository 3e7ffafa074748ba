// Maps errors of the driver to fault classes of the program. Pure functions.
#pragma once
#include <optional>
#include <string>

#include "verdict/fault/fault_class.h"

namespace bicrl::gpu {

enum class FaultPlace {
  kLaunch,  // the driver refused a launch, or to make room for it
  kKernel   // a kernel ran and ended so
};

// The class if the program is at fault; none: the driver, the device or this project is, and what was to be
// run must be run elsewhere. `code`: CUresult.
std::optional<FaultClass> fault_class_of(int code, FaultPlace place);
// For the program's author.
std::string fault_message_of(int code);

}  // namespace bicrl::gpu
