#include "sandbox/interpreter/ptx/operations/system_operations.h"

#include "common/rng.h"
#include "sandbox/interpreter/ptx/execution/grid.h"
#include "sandbox/interpreter/ptx/execution/memory_access.h"
#include "sandbox/interpreter/ptx/execution/observer.h"
#include "sandbox/interpreter/ptx/operations/lane_values.h"
#include "sandbox/interpreter/ptx/operations/print_operations.h"

namespace bicrl::ptx {

bool is_clock(Special special) {
  return special == Special::kClock || special == Special::kClockHi || special == Special::kClock64 ||
         special == Special::kGlobalTimer;
}

namespace {

// Devices have run for a while when a kernel begins, and their timer counts nanoseconds since 1970. The
// differences are all that a kernel may rely on, so the beginnings are the seed's business, in those ranges.
constexpr uint64_t kLongestUptime_cycles = uint64_t{1} << 52;
constexpr uint64_t kTimerBegin_ns = 1'700'000'000'000'000'000, kTimerSpan_ns = uint64_t{1} << 58;

uint64_t begin_of(Special clock, uint64_t seed) {
  if (clock == Special::kGlobalTimer) return kTimerBegin_ns + mix_key(seed, "timer") % kTimerSpan_ns;
  return mix_key(seed, "clock") % kLongestUptime_cycles;
}

}  // namespace

void read_clock(WarpGroup& warp_group, const Operation& op) {
  warp_group.note_wait();
  const auto clock = static_cast<Special>(op.detail);
  uint64_t now = begin_of(clock, warp_group.grid().order().seed) + warp_group.clock();
  if (clock == Special::kClockHi) now >>= 32;
  warp_group.active().for_each([&](int lane) {
    if (op.destinations[0].bytes == 8)
      set_value(warp_group, op.destinations[0], lane, now);
    else
      set_value(warp_group, op.destinations[0], lane, static_cast<uint32_t>(now));
  });
}

void sleep(WarpGroup& warp_group, const Operation&) { warp_group.note_wait(); }

void fence(WarpGroup& warp_group, const Operation& op) {
  if (Observer* observer = warp_group.grid().observer()) observer->fence(warp_group, op);
}

void nothing(WarpGroup&, const Operation&) {}

void trap(WarpGroup& warp_group, const Operation&) {
  warp_group.fail(FaultClass::kTrap, "the kernel trapped", warp_group.active().first());
}

void is_in_space(WarpGroup& warp_group, const Operation& op) {
  const auto window = static_cast<uint64_t>(op.offset) >> 32;
  warp_group.require_defined(op.sources[0], "an address");
  warp_group.active().for_each([&](int lane) {
    const uint64_t high = warp_group.values<uint64_t>(op.sources[0])[lane] >> 32;
    const bool inside = window != 0 ? high == window : high > kParameterWindow >> 32;
    set_predicate(warp_group, op.destinations[0], lane, inside);
  });
}

Handler system_call(std::string_view name) {
  if (name == "vprintf") return print;
  if (name == "__assertfail") return fail_assertion;
  return nullptr;
}

}  // namespace bicrl::ptx
