// System operations of a kernel: clocks, sleep, traps, and the functions that the device runtime has.
// Handlers of Operation.
#pragma once
#include <string_view>

#include "sandbox/interpreter/ptx/lowering/kernel.h"

namespace bicrl::ptx {

// Special registers whose values change while a kernel runs. They count operations, not time: a kernel that
// waits for them goes on, and two runs see the same.
bool is_clock(Special special);
// detail: the Special.
void read_clock(WarpGroup& warp_group, const Operation& op);
void sleep(WarpGroup& warp_group, const Operation& op);
// Nothing that the interpreter would notice: lanes take turns, so every write is seen at once.
void fence(WarpGroup& warp_group, const Operation& op);
void nothing(WarpGroup& warp_group, const Operation& op);
void trap(WarpGroup& warp_group, const Operation& op);
// Whether source 0 is a generic address of the window at `offset`; of global memory, if that is 0.
void is_in_space(WarpGroup& warp_group, const Operation& op);

// vprintf, __assertfail and their like by name; null for others.
Handler system_call(std::string_view name);

}  // namespace bicrl::ptx
