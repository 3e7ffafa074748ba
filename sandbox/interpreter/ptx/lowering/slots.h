// Places of a function's registers in a frame. Registers whose live ranges do not meet share a place. That is
// safe although lanes are at different points of the program: every lane has elements of its own, and what is
// live is a matter of the lane's own path.
#pragma once
#include <cstdint>
#include <vector>

#include "sandbox/interpreter/ptx/lowering/control_flow.h"
#include "sandbox/interpreter/ptx/syntax/module.h"

namespace bicrl::ptx {

struct RegisterSlots {
  static constexpr uint32_t kNone = ~uint32_t{0};
  // Of every register, bytes from the frame's begin per lane, aligned to the register's size. Registers that
  // share bytes share all of them. kNone if no instruction names the register.
  std::vector<uint32_t> offsets;
  uint32_t bytes = 0;  // of the frame per lane
  // Registers that may be read before they are written, ascending; each has a place of its own, so that a
  // value put there at the start is what is read.
  std::vector<uint32_t> may_be_unwritten;
};

// Bytes of a register per lane: 2, 4, 8 or 16; 4 of a predicate.
uint32_t slot_bytes(Type type);

// A destination can have the place of a source that is not needed any more, if the instruction has one
// destination register; no two destinations of an instruction share a place. Beyond the limit of
// find_live_ranges() registers have places of their own. Pure function.
RegisterSlots assign_slots(const Function& function, const ControlFlow& flow);

}  // namespace bicrl::ptx
