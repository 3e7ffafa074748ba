#include "sandbox/ptx/system_operations.h"

#include "sandbox/ptx/memory_access.h"
#include "sandbox/ptx/print_operations.h"

namespace bicrl::ptx {

bool is_clock(Special special) {
  return special == Special::kClock || special == Special::kClockHi || special == Special::kClock64 ||
         special == Special::kGlobalTimer;
}

void read_clock(Strand& strand, const Operation& op) {
  strand.note_wait();
  if (!op.destinations[0]) return;
  uint64_t now = strand.clock();
  if (static_cast<Special>(op.detail) == Special::kClockHi) now >>= 32;
  strand.active().for_each([&](int lane) {
    if (op.destinations[0].bytes == 8)
      strand.values<uint64_t>(op.destinations[0])[lane] = now;
    else
      strand.values<uint32_t>(op.destinations[0])[lane] = static_cast<uint32_t>(now);
    if (!strand.has_shadows()) return;
    if (op.destinations[0].bytes == 8)
      strand.shadows<uint64_t>(op.destinations[0])[lane] = 0;
    else
      strand.shadows<uint32_t>(op.destinations[0])[lane] = 0;
  });
}

void sleep(Strand& strand, const Operation&) { strand.note_wait(); }

void trap(Strand& strand, const Operation&) {
  strand.fail(FaultClass::kTrap, "the kernel trapped", strand.active().first());
}

void is_in_space(Strand& strand, const Operation& op) {
  const auto window = static_cast<uint64_t>(op.offset) >> 32;
  strand.require_defined(op.sources[0], "an address");
  strand.active().for_each([&](int lane) {
    const uint64_t high = strand.values<uint64_t>(op.sources[0])[lane] >> 32;
    const bool inside = window != 0 ? high == window : high > kParameterWindow >> 32;
    strand.values<uint32_t>(op.destinations[0])[lane] = inside ? ~uint32_t{0} : 0;
    if (strand.has_shadows()) strand.shadows<uint32_t>(op.destinations[0])[lane] = 0;
  });
}

Handler system_call(std::string_view name) {
  if (name == "vprintf") return print;
  if (name == "__assertfail") return fail_assertion;
  return nullptr;
}

}  // namespace bicrl::ptx
