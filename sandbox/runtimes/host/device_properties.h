// The device as host code sees it: one fixed table, the same on every machine. Launch limits and the number
// of multiprocessors are the executor's (see DeviceLimits in sandbox/interpreter/ptx/execution/grid.h).
#pragma once
#include <cstdint>

#include "bicrl/cuda_api.h"

namespace bicrl {

constexpr unsigned kMaxThreads = 1024, kMaxBlockDepth = 64;
constexpr unsigned kMaxGrid[3] = {2147483647, 65535, 65535};
constexpr uint64_t kDefaultSharedBytes = 48 << 10, kMaxSharedBytes = 227 << 10;

const cudaDeviceProp& device_table();

}  // namespace bicrl
