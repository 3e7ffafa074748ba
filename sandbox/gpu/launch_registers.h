// Check that a multiprocessor has the registers that a launch needs: a device would not begin a launch that
// needs more. PTX does not say how many a kernel needs, machine code does. Pure functions.
#pragma once
#include <map>
#include <string>

#include "sandbox/cost/device_table.h"
#include "sandbox/frontend/device/cubin_resources.h"
#include "sandbox/recorder/trace/trace.h"

namespace bicrl {

// Whether a launch has so many threads in a block that they may need too many. A thread has at most 255.
bool registers_may_run_out(const Trace& trace, const DeviceTable& device);

// The first launch that needs too many, for a person; empty if none is known to. `resources` by entry.
std::string register_problem(const Trace& trace, const std::map<std::string, KernelResources>& resources,
                             const DeviceTable& device);

}  // namespace bicrl
