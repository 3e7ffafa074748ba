// What a program's launches would do at a size that nobody runs: counters of two smaller ones, where blocks
// do the same at both and more of them are launched. Pure functions.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/cost/launch_counters.h"
#include "sandbox/recorder/trace/trace.h"

namespace bicrl {

// A counted run at a reduced size.
struct CountedSize {
  const Trace* trace = nullptr;
  std::vector<LaunchCounters> launches;  // as the executor counts them
  uint64_t least_bytes = 0;              // that any program must move at this size
};

struct Extrapolation {
  std::vector<LaunchCounters> launches;  // of the own size; empty:
  std::string reason;                    // why nothing is known of it
};

// `own`: the trace at the task's own size, where any program must move `least_bytes`. A launch is known if
// the same kernel is launched at all three sizes, in the same order and with equal blocks, if a block does
// the same work at both counted sizes, and if the number of blocks grows from there as the task does.
Extrapolation extrapolate(const Trace& own, uint64_t least_bytes, const CountedSize& one,
                          const CountedSize& other);

}  // namespace bicrl
