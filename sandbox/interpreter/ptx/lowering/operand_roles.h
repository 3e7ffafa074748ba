// Roles of an instruction's operands: which are written and which are read. Pure functions.
#pragma once
#include <cstdint>

#include "sandbox/interpreter/ptx/syntax/module.h"

namespace bicrl::ptx {

// How many of the operands are destinations; they are the first ones. A vector and a pair count as one. Of a
// call, the return variables; of a store, none. An opcode that is not known has one if its first operand is a
// register, a vector, a pair or a sink.
uint32_t destination_count(const Instruction& instruction);

// Whether the destinations are also sources (wgmma adds to its accumulators).
bool reads_destinations(const Instruction& instruction);

// Calls work(register) for every register that the instruction reads, its guard included, and those of
// address operands; a register that stands twice comes twice.
template <class Work>
void for_each_read(const Instruction& instruction, const Work& work);

// Calls work(register) for every register that it writes, with its guard or without.
template <class Work>
void for_each_write(const Instruction& instruction, const Work& work);

// Calls work(register) for the registers within an operand.
template <class Work>
void for_each_register(const Operand& operand, const Work& work) {
  if (operand.kind == Operand::Kind::kRegister) work(operand.index);
  for (const Operand& element : operand.elements)
    if (element.kind == Operand::Kind::kRegister) work(element.index);
}

template <class Work>
void for_each_read(const Instruction& instruction, const Work& work) {
  if (instruction.guard >= 0) work(static_cast<uint32_t>(instruction.guard));
  const uint32_t first = reads_destinations(instruction) ? 0 : destination_count(instruction);
  for (size_t i = first; i < instruction.operands.size(); ++i)
    for_each_register(instruction.operands[i], work);
}

template <class Work>
void for_each_write(const Instruction& instruction, const Work& work) {
  const uint32_t count = destination_count(instruction);
  for (size_t i = 0; i < count; ++i) for_each_register(instruction.operands[i], work);
}

}  // namespace bicrl::ptx
