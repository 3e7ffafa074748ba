// Arithmetic of the machine: one function per opcode with its types and modifiers, over all lanes at once.
// Pure functions on arrays; thread-safe.
//
// A value of one lane lies in an array over lanes: 16-, 32-, 64- and 128-bit registers as elements of that
// size, predicates as 32-bit words that are 0 or all ones. Arrays are aligned to 64 bytes and do not overlap,
// except that a destination may be one of the sources. All lanes are computed, also those that are not
// active, whose values may be anything: no function may trap. What PTX leaves undefined (division by zero,
// say) gives some fixed value.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/ptx/module.h"

namespace bicrl::ptx {

// Arrays over lanes; those that an opcode does not have are null.
struct AluArguments {
  void* destination = nullptr;
  void* second_destination = nullptr;  // the q of setp p|q, or the carry of add.cc and its like
  std::array<const void*, 4> sources{};
};

// Which bits of a value were never written, in arrays of the same shape as the values: 1 is undefined.
struct ShadowArguments {
  void* destination = nullptr;
  void* second_destination = nullptr;
  std::array<const void*, 4> sources{};  // shadows
  std::array<const void*, 4> values{};   // of the sources
};

using AluFunction = void (*)(const AluArguments&, int lanes);
using ShadowFunction = void (*)(const ShadowArguments&, int lanes);

// How an instruction computes.
struct AluEntry {
  AluFunction run = nullptr;
  ShadowFunction shadow = nullptr;
  Type destination = Type::kNone;         // element type of the destination array
  Type second_destination = Type::kNone;  // kNone if there is none
  std::array<Type, 4> sources{};          // element types of the source arrays; kNone from the last one on
  // Whether the instruction also reads or writes the carry flag, a hidden register of every lane (kPred): it
  // is the last source, or the second destination.
  bool reads_carry = false;
  bool writes_carry = false;
};

// The entry of an instruction that only computes: integer, floating-point, comparison, logic, shift,
// conversion, data movement between registers. Nothing if the opcode is none of these (memory, control flow,
// warp and matrix operations are the machine's), or no such combination of modifiers exists.
std::optional<AluEntry> find_alu(const Instruction& instruction);

// Names of the opcodes that find_alu() knows, for messages and tests.
const std::vector<std::string>& alu_opcodes();

}  // namespace bicrl::ptx
