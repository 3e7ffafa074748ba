#include "sandbox/interpreter/races/race.h"

#include "common/error.h"
#include "sandbox/frontend/device/entry_names.h"

namespace bicrl::races {
namespace {

std::string act(const RacyAccess& access) {
  switch (access.kind) {
    case RacyAccess::Kind::kRead:
      return "read";
    case RacyAccess::Kind::kWrite:
      return "written";
    case RacyAccess::Kind::kAtomic:
      return "updated atomically";
    case RacyAccess::Kind::kCopy:
      return "written by an asynchronous copy";
  }
  return "";
}

std::string at_line(const RacyAccess& access) {
  return access.line > 0 ? concat(" at line ", access.line) : "";
}

std::string missing(const Race& race) {
  const bool atomic =
      race.first.kind == RacyAccess::Kind::kAtomic || race.second.kind == RacyAccess::Kind::kAtomic;
  if (race.non_coherent)
    return "what a launch writes must not be read by __ldg() or through a const __restrict__ pointer";
  if (race.updates) return "both read that word and write it: an atomic operation is missing";
  if (race.same_warp) return "a __syncwarp() or __syncthreads() is missing between them";
  if (race.first.kind == RacyAccess::Kind::kCopy)
    return "a __syncthreads() behind the wait for the copy is missing between them";
  if (race.same_block) return "a __syncthreads() is missing between them";
  if (atomic) return "one of them is atomic and the other is not: both have to be, or another launch";
  if (race.flags_without_fence)
    return "blocks of one launch have no order: a __threadfence() before the flag is missing, or another "
           "launch";
  return "blocks of one launch have no order: another launch is missing, or atomic operations";
}

std::string thread_of(const RacyAccess& access) {
  return concat("block ", access.block[0], ", ", access.block[1], ", ", access.block[2], ", thread ",
                access.thread);
}

// The last part of a variable's name.
std::string plain_name(const std::string& mangled) {
  std::string name = readable_name(mangled);
  if (const size_t colon = name.rfind("::"); colon != std::string::npos) name = name.substr(colon + 2);
  return name;
}

}  // namespace

ptx::KernelFault to_fault(const Race& race, const std::string& buffer) {
  std::string where = buffer;
  if (race.in_shared)
    where = race.variable.empty() ? "dynamic shared memory" : "shared variable " + plain_name(race.variable);
  const bool same_thread = race.same_block && race.first.thread == race.second.thread;
  const char* other = same_thread       ? "the same thread"
                      : race.same_warp  ? "another lane of the warp"
                      : race.same_block ? "another thread of the block"
                                        : "another block";
  ptx::KernelFault fault{ptx::FaultClass::kRace,
                         concat("race on ", where, ": ", act(race.first), at_line(race.first), ", ",
                                act(race.second), " by ", other, at_line(race.second), "; ", missing(race)),
                         race.kernel};
  fault.place = concat("bytes ", race.first_byte, " to ", race.last_byte, ", ", thread_of(race.first),
                       " and ", thread_of(race.second));
  return fault;
}

}  // namespace bicrl::races
