// From counters to a modelled time: a roofline with latency and launches. It is a model, no measurement; the
// formula and its sources are in docs/cost_model.md. Pure functions.
//
// The same counters give the same bits everywhere: arithmetic is IEEE double, of sums, products, quotients
// and comparisons alone, in the order of the text; the compiler contracts nothing (-ffp-contract=off), and no
// function of the mathematical library is called.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sandbox/cost/device_table.h"
#include "sandbox/cost/launch_counters.h"
#include "sandbox/cost/occupancy.h"

namespace bicrl {

// What can bound a launch.
enum class Bound : uint8_t {
  kDram,
  kL2,
  kL1,      // requests to global and local memory, as L1 serves them
  kShared,  // shared memory, its conflicts and its atomics
  kIssue,   // slots of the schedulers
  kPipe,    // the arithmetic unit that has most to do
  kTensor,
  kAtomics,  // on global memory
  kLatency,  // waiting for what earlier operations bring, with too few warps to hide it
  kStarts,   // of blocks, which the device begins one after the other
  kHost      // the link to the host
};
constexpr size_t kBounds = 11;
std::string_view to_string(Bound bound);  // "dram"
// The same in the four words that a user asks in: "memory", "issue", "latency" or "launch".
std::string_view bound_family(Bound bound);

struct LaunchCost {
  std::array<double, kBounds> parts_ms{};  // by Bound: how long each would take alone
  double launch_ms = 0;                    // overhead
  double total_ms = 0;
  Bound bound_by = Bound::kDram;
  Occupancy occupancy;
};

struct ProgramCost {
  std::vector<LaunchCost> launches;
  double modelled_ms = 0;
  double launch_ms = 0;       // overhead, within modelled_ms
  std::string_view bound_by;  // a bound_family(): the one that has most of modelled_ms
};

LaunchCost model_launch(const LaunchCounters& launch, const DeviceTable& device);
// Launches of one stream, one after the other.
ProgramCost model_program(const std::vector<LaunchCounters>& launches, const DeviceTable& device);

// The least time in which a device can move so many bytes to and from its memory.
double least_ms(uint64_t bytes, const DeviceTable& device);

}  // namespace bicrl
