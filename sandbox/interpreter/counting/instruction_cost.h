// Cost of a PTX instruction on a device: the unit that executes it, the issue slots of its machine code, and
// its result's latency. Pure functions.
//
// The translation by ptxas is not public. Most instructions become one of the machine; moves of registers and
// constants, conversions of addresses and loads of parameters become none (they are operands); quotients and
// exact roots become sequences, whose lengths here are those that cuobjdump shows for sm_80 to sm_90, within
// a few.
#pragma once
#include <cstdint>

#include "sandbox/cost/launch_counters.h"
#include "sandbox/interpreter/ptx/syntax/module.h"

namespace bicrl {

struct InstructionCost {
  InstructionKind kind = InstructionKind::kInteger;
  uint32_t slots = 1;             // 0: nothing is left of it in machine code
  uint32_t special_slots = 0;     // of InstructionKind::kSpecial, besides
  uint32_t cycles = 0;            // until its result can be used, without the access below
  bool waits_for_memory = false;  // its result comes from global or local memory
  uint64_t tensor_flops = 0;      // of a warp
  TensorType tensor_type = TensorType::kHalf;
};

InstructionCost cost_of(const ptx::Instruction& instruction);

}  // namespace bicrl
