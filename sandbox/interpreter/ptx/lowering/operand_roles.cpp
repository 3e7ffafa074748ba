#include "sandbox/interpreter/ptx/lowering/operand_roles.h"

#include <string_view>

namespace bicrl::ptx {
namespace {

// Instructions whose first operand can be a register that they read. Stores and their like have an address
// there.
bool begins_with_source(const Instruction& instruction) {
  const std::string_view opcode = instruction.opcode;
  if (opcode == "bar" || opcode == "barrier") return !instruction.has("red");
  return opcode == "brx" || opcode == "nanosleep" || opcode == "stackrestore";
}

}  // namespace

uint32_t destination_count(const Instruction& instruction) {
  if (instruction.opcode == "call") return instruction.returns;
  if (instruction.operands.empty() || begins_with_source(instruction)) return 0;
  switch (instruction.operands[0].kind) {
    case Operand::Kind::kRegister:
    case Operand::Kind::kVector:
    case Operand::Kind::kPair:
    case Operand::Kind::kSink:
      return 1;
    default:
      return 0;  // st.global [a], x
  }
}

bool reads_destinations(const Instruction& instruction) { return instruction.opcode == "wgmma"; }

}  // namespace bicrl::ptx
