// Live ranges of the registers in a function's text. Pure function.
#pragma once
#include <cstdint>
#include <vector>

#include "sandbox/interpreter/ptx/lowering/control_flow.h"
#include "sandbox/interpreter/ptx/syntax/module.h"

namespace bicrl::ptx {

// The smallest piece of the text that holds all points at which a register is live. Instruction i has two
// points: 2 i, at which it reads, and 2 i + 1, at which it writes.
struct LiveRange {
  uint64_t begin = 1, end = 0;  // both included; begin > end if no instruction names the register
  // On some path from the entry an instruction reads the register that no instruction has certainly written
  // (one with a guard may not). Its range is the whole text.
  bool may_be_unwritten = false;
};

// One for each register. In time and memory linear in the instructions, plus, for each register that is live
// across blocks, the blocks that it is live in: a bounded number of these in all, beyond which registers
// that may be read before they are written are taken to be that.
std::vector<LiveRange> find_live_ranges(const Function& function, const ControlFlow& flow);

}  // namespace bicrl::ptx
