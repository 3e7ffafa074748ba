// Parser of the modifiers and operands of an instruction. Internal to lower_*.cpp; pure functions, which
// throw Unsupported for a form that the interpreter does not have.
#pragma once
#include <array>
#include <string_view>
#include <utility>

#include "sandbox/interpreter/ptx/lowering/lowering.h"

namespace bicrl::ptx {

// The modifiers that stand for values.
template <class Value, size_t kCount>
using Names = std::array<std::pair<std::string_view, Value>, kCount>;

// The value whose name is among the modifiers.
template <class Value, size_t kCount>
const Value* find_modifier(const Instruction& instruction, const Names<Value, kCount>& names) {
  for (const std::string& modifier : instruction.modifiers)
    for (const auto& [name, value] : names)
      if (modifier == name) return &value;
  return nullptr;
}

template <class Value, size_t kCount>
Value modifier(const Instruction& instruction, const Names<Value, kCount>& names) {
  const Value* found = find_modifier(instruction, names);
  if (!found) throw Unsupported("a modifier that this machine does not have");
  return *found;
}

// The type that stands last, as it does in most instructions.
inline Type last_type(const Instruction& instruction) {
  const Type type = instruction.modifiers.empty() ? Type::kNone : parse_type(instruction.modifiers.back());
  if (type == Type::kNone) throw Unsupported("no type that this machine knows");
  return type;
}

inline void expect_operands(const Instruction& instruction, size_t least, size_t most) {
  if (instruction.operands.size() < least || instruction.operands.size() > most)
    throw Unsupported("this number of operands");
}

// What the words of a load, a store, an atomic operation or a fence promise.
MemoryOrder order_of(const Instruction& instruction);

// Results of 32 bits and predicates, which are as large.
inline void expect_word_results(const Operation& op) {
  for (const Place& result : op.destinations)
    if (result && result.bytes != 4) throw Unsupported("a result of this size");
}

}  // namespace bicrl::ptx
