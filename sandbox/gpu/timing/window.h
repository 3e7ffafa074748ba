// A window in which a candidate and its baselines are timed in turns: the same test input for all, prepared
// before the clock runs, in an order that nobody can foresee, and what the candidate answered is checked
// before it is timed again. Knows no device: parties, clocks and health come from outside. Not thread-safe;
// blocks.
#pragma once
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "sandbox/gpu/timing/device_health.h"
#include "sandbox/gpu/timing/statistics.h"
#include "verdict/fault/fault.h"

namespace bicrl::timing {

// Of what a time means: raised if it is made otherwise, as times of two versions are not comparable.
inline constexpr const char* kWindowsVersion = "3";

struct TimedCall {
  double event_ms = 0;  // by the device's events
  double host_ms = 0;   // by the host's monotonic clock around the same span
};

class TimedParty {
 public:
  virtual ~TimedParty() = default;
  // Everything as if nothing had run before, on that test input: begins with it, so that parties do it
  // side by side, and await_ready() waits for it. Nobody is timed before all are ready. A fault of the
  // program is the party's own, and of a baseline nobody's but the verifier's.
  virtual Fault prepare(size_t test_input) = 0;
  virtual Fault await_ready() { return {}; }
  virtual Fault time(TimedCall& call) = 0;
};

struct WindowOptions {
  SteadinessLimits steadiness;
  size_t warm_up = 3;       // pairs that do not count: they are checked all the same
  double limit_s = 20;      // of one window
  int most_windows = 3;     // until one is steady
  size_t health_every = 8;  // pairs
};

struct WindowSetting {
  TimedParty* candidate = nullptr;
  std::vector<TimedParty*> baselines;  // at least one: the first decides when it is enough
  size_t test_inputs = 0;              // at least two, so that an answer kept from the last call is wrong
  // Compares what the candidate answered in the call that was timed last: while parties prepare the next one,
  // as it takes the host as long as that does.
  std::function<Fault(size_t test_input)> check;
  std::function<DeviceHealth()> health;
  std::function<uint64_t()> random;  // secret
  // Before a further window, when so many were of no use: where the device is to blame, and before the last.
  std::function<void(int windows)> rest;
  std::function<double()> seconds;  // a monotonic clock
};

// What the time of all windows went into. Preparing is what is left of it beside the checks that it covers.
struct WindowParts {
  double prepare_s = 0, check_s = 0, candidate_s = 0, baselines_s = 0;
};

// What all windows together saw.
struct HealthSummary {
  bool known = false;
  std::string unknown_because = {};
  uint32_t least_sm_mhz = 0, most_sm_mhz = 0, memory_mhz = 0, most_temperature_c = 0;
  uint64_t reasons = 0;
  int most_tenants = 0;
  void add(const DeviceHealth& health);
};

struct WindowResult {
  Fault end;             // none: the rest is there
  std::string unsteady;  // without a fault: why the pairs say nothing, though the device was well
  std::vector<std::vector<Pair>> pairs;       // of each baseline, in the order of time
  int windows = 0;                            // that were needed
  std::vector<std::string> repeated_because;  // one for each window that was of no use
  double clock_gap_ms = 0;                    // median of host less events, over all calls of the last window
  HealthSummary health;                       // of the last window
  WindowParts parts;
};

WindowResult conduct(const WindowSetting& setting, const WindowOptions& options, std::stop_token stop);

}  // namespace bicrl::timing
