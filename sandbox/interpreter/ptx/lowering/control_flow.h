// Basic blocks of a function and the ways between them. Plain values; thread-safe.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "sandbox/interpreter/ptx/syntax/module.h"

namespace bicrl::ptx {

// Instructions [first, first + count) of the body, which are executed one after the other. A block ends
// behind a branch, a return, an exit, a trap and a call; and before an instruction that a branch leads to, or
// that lanes may have to wait at.
struct FlowBlock {
  uint32_t first = 0;
  uint32_t count = 0;
  bool blocking = false;             // the first instruction is one that is_blocking()
  std::vector<uint32_t> successors;  // blocks, ascending, each once
};

// Blocks in the order of the text. Blocks that control cannot reach are among them.
struct ControlFlow {
  // If control can run off the end of the body, the last block is empty and stands for that: it returns.
  std::vector<FlowBlock> blocks;
  // For every label that a branch names, the block that begins there; kNoBlock for other labels.
  std::vector<uint32_t> label_blocks;
};
constexpr uint32_t kNoBlock = ~uint32_t{0};

// Operations that exchange values between the lanes of a warp; without bar.warp, which has an opcode of
// barriers. lower_collectives.cpp lists and lowers them.
bool is_warp_collective(std::string_view opcode);

// Whether lanes that come here may have to wait for others: barriers, warp and matrix operations.
bool is_blocking(const Instruction& instruction);

// Whether it is the last of a block: bra, brx, ret, exit, trap, call.
bool ends_block(const Instruction& instruction);

// Of a function of a module that parse_module() made.
ControlFlow make_control_flow(const Function& function);

}  // namespace bicrl::ptx
