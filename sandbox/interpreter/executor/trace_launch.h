// A trace's launch as the interpreter has it. Pure functions.
#pragma once
#include <optional>

#include "sandbox/interpreter/ptx/execution/grid.h"
#include "sandbox/recorder/trace/trace.h"
#include "sandbox/trace_run/device_program.h"

namespace bicrl {

// Its pointers are not placed yet, nor is there a workspace.
ptx::LaunchConfig launch_config(const TraceOp& launch);

// Why a device would not begin a launch, whatever is in its memory; nothing if it would. Throws
// ptx::FaultError if there is no such kernel.
std::optional<ptx::KernelFault> launch_fault(DeviceProgram& program, const TraceOp& launch);

}  // namespace bicrl
