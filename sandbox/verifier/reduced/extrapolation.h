// Extrapolates launch counters from reduced sizes to the task's own, which is not run, where blocks do the
// same at all of them and more of them are launched. Pure functions.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/cost/launch_counters.h"
#include "sandbox/recorder/trace/trace.h"

namespace bicrl {

inline constexpr double kAlike = 1.2;  // work of a block, one size over another

// A counted run at a reduced size.
struct CountedSize {
  const Trace* trace = nullptr;
  std::vector<LaunchCounters> launches;              // as the executor counts them
  uint64_t least_bytes = 0;                          // that any program must move at this size
  double lane_operations = 0;                        // of an ordinary program at this size, estimated
  bool is_long = false;                              // SizeVariant
  const std::vector<std::string>* inputs = nullptr;  // a test input there, by leaf
};

struct Extrapolation {
  std::vector<LaunchCounters> launches;  // of the own size; empty:
  std::string reason;                    // why nothing is known of it
};

// Of some counted sizes, at least one, that whose counters are extrapolated: the largest of those with a long
// axis, which every verification runs, so that times do not depend on which others were drawn. A program has
// few blocks at a small size of a task with a small answer, and their remainders weigh much.
const CountedSize& base_size(const std::vector<CountedSize>& counted);

// `own`: the task's own size, without launches; `counted`: at least two others. A launch is known if the same
// kernel is launched at all sizes, in the same order and with equal blocks, if a block does the same work at
// the base as at every other counted size, if the task's work grows from there as its bytes do (else blocks
// do more at the own size, whatever they do below), and if the number of blocks does, but for rounding. What
// blocks do at the own size is for a sample to show (own_size_sample.h). Counters grow as the task at least:
// a smaller grid gains nothing.
Extrapolation extrapolate(const CountedSize& own, const std::vector<CountedSize>& counted);

}  // namespace bicrl
