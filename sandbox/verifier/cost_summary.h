// The counters of a program as a verdict keeps them: a text of JSON,
//   {"launches": how many, "listed": [counters of the dearest], "bound_by": "memory" | "issue" | "latency" |
//   "launch"}.
// Pure functions.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "sandbox/cost/device_table.h"
#include "sandbox/cost/launch_counters.h"
#include "sandbox/frontend/device/cubin_resources.h"

namespace bicrl {

// Tells launches the registers of their kernels, as far as they are known.
void add_resources(const std::map<std::string, KernelResources>& resources,
                   std::vector<LaunchCounters>& launches);

std::string counters_text(const std::vector<LaunchCounters>& launches, const DeviceTable& device);

// What a person reads of it, by the tables of `device` as a verdict names it ("h100, tables 1"). Throws
// InputError if the text is none, or the tables are not those of this program.
std::string profile_text(const std::string& counters, const std::string& device);

}  // namespace bicrl
