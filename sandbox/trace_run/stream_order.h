// The orders in which a device may do what a host part issues into several streams. A trace has the order of
// issue, and says what comes after what; whatever that leaves open, a device may turn round. Pure functions
// of a checked trace.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sandbox/recorder/trace/trace.h"

namespace bicrl {

// A call's operations by number, each behind those that it comes after. Those from `before_end` on need not
// be done when the call's outputs are read.
struct CallOrder {
  std::vector<uint32_t> operations;
  size_t before_end = 0;
  bool operator==(const CallOrder&) const = default;
};

// Orders besides that of issue, empty if a device has no choice. First what need not be done at the end comes
// behind it; then what was issued last comes first; then each stream in turn works only when no other can: so
// any two operations of different streams that nothing orders are done both ways, as long as the call has no
// more streams than fit. Then of two such operations that may use one buffer of the program, each comes just
// behind all that the other needs and just before it, nearest in the order of issue first: what is written
// between a write and a read shows in no other way.
std::vector<CallOrder> other_orders(const std::vector<TraceBuffer>& buffers,
                                    std::span<const TraceOp> operations, const TraceOrder& end_after);
inline constexpr size_t kStreamOrders = 8;  // the first ones,
inline constexpr size_t kMaxOrders = 24;    // and with those of pairs
// The most of any call of the trace.
size_t other_orders(const Trace& trace);

// For a person: two operations that the order does otherwise than they were issued, on one buffer if there
// are such, or one that it leaves for the end, on an output if there is such; and what is missing.
std::string turned_round(const Trace& trace, std::span<const TraceOp> operations,
                         const std::vector<TraceView>& outputs, const CallOrder& order);

}  // namespace bicrl
