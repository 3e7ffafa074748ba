// Occupancy of a multiprocessor: how many blocks of a kernel it holds at a time. Pure functions.
// Source: NVIDIA, "CUDA C++ Programming Guide", hardware implementation and the table of technical
// specifications by compute capability; registers are given to warps in units, shared memory to blocks.
#pragma once
#include <string_view>

#include "sandbox/cost/device_table.h"
#include "sandbox/cost/launch_counters.h"

namespace bicrl {

struct Occupancy {
  uint32_t blocks = 0;  // at least 1: a launch that cannot run at all has failed before
  uint32_t warps = 0;
  double share = 0;             // of the warps that there can be
  std::string_view limited_by;  // "blocks", "warps", "registers" or "shared memory"
};

// Without a number of registers (0) they are no limit.
Occupancy occupancy_of(const LaunchCounters& launch, const DeviceTable& device);

}  // namespace bicrl
