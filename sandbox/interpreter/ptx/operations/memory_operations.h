// Loads and stores. Handlers of Operation.
#pragma once
#include "sandbox/interpreter/ptx/lowering/kernel.h"

namespace bicrl::ptx {

// Of an element type in memory to or from registers of `register_bytes` (2, 4, 8, 16); null if there is no
// such. The operation's destinations (of a store: sources) are the elements of its vector.
Handler load_handler(Type type, uint32_t register_bytes);
Handler store_handler(Type type, uint32_t register_bytes);

// Operation::detail of a load: it reads what others write (volatile, relaxed, acquire).
constexpr uint16_t kReadsOthers = 1;

}  // namespace bicrl::ptx
