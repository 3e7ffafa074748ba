// Read-modify-write of memory: atom and red. Lanes of a warp group take turns in ascending order.
#pragma once
#include "sandbox/interpreter/ptx/lowering/kernel.h"

namespace bicrl::ptx {

enum class AtomicKind : uint8_t { kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor, kExchange, kCompareAndSwap };

// Of an element type; null if there is no such operation on it. The operation's sources are the elements of
// the value (for kCompareAndSwap what is compared, then what is stored), its destinations, if it has any,
// take what the memory held before.
Handler atomic_handler(AtomicKind kind, Type type);

}  // namespace bicrl::ptx
