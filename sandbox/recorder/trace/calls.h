// Compares the calls of a trace: whether a further one can answer otherwise than the first. Pure functions of
// a checked trace.
#pragma once
#include <cstdint>
#include <vector>

#include "sandbox/recorder/trace/trace.h"

namespace bicrl {

// The buffers in which a call may leave something for a later one: those that the constructor touched, and
// those that several calls touch. Without inputs, which have other contents at each call.
std::vector<uint32_t> kept_buffers(const Trace& trace);

// For each buffer the call that touches it first: 0 is the first call or the constructor, or nobody; k the
// repeat k - 1.
std::vector<uint32_t> first_uses(const Trace& trace);

// The first repeat that need not answer like the first call, even if that has left everything as it was: one
// that is not alike, or works on what a repeat before it may have left. repeats.size() if there is none.
// Alike is a repeat that does the same operations in the same order, of the host part and of the device, on
// buffers of its own where the first call has buffers of its own. Then only what is left in kept_buffers(),
// or in variables of the modules, can make it answer otherwise.
size_t first_other_repeat(const Trace& trace);

// All of the above, found once for all runs of a trace.
struct CallSummary {
  bool alike = true;
  size_t first_other = 0;  // first_other_repeat()
  std::vector<uint32_t> first_uses;
  std::vector<uint32_t> kept;  // empty if there are no repeats
};
CallSummary summarise_calls(const Trace& trace);

}  // namespace bicrl
