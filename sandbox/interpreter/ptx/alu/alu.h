// Arithmetic of the interpreter: one function per opcode with its types and modifiers, over all lanes at
// once. Pure functions on arrays; thread-safe.
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

#include "sandbox/interpreter/ptx/syntax/module.h"

namespace bicrl::ptx {

// Results of an instruction: of `mov.b64 {a, b, c, d}, e` four, of `setp p|q` two (p, q), of an instruction
// that writes the carry flag its result and the flag.
constexpr int kMaxAluDestinations = 4;
constexpr int kMaxAluSources = 4;

// Arrays over lanes; those that an opcode does not have are null. A destination that the text leaves out
// (`_`) needs an array all the same.
struct AluArguments {
  std::array<void*, kMaxAluDestinations> destinations{};
  std::array<const void*, kMaxAluSources> sources{};
};

// Which bits of a value were never written, in arrays of the same shape as the values (of a predicate 0 or
// all ones): 1 is undefined.
struct ShadowArguments {
  std::array<void*, kMaxAluDestinations> destinations{};
  std::array<const void*, kMaxAluSources> sources{};  // shadows
  std::array<const void*, kMaxAluSources> values{};   // of the sources, before the instruction ran
};

using AluFunction = void (*)(const AluArguments&, int lanes);
using ShadowFunction = void (*)(const ShadowArguments&, int lanes);

// How an instruction computes. Sources and destinations are in the order of the text; each element of a
// vector operand of mov is one of its own, and so are the p and q of setp p|q.
struct AluEntry {
  AluFunction run = nullptr;
  ShadowFunction shadow = nullptr;
  // Element types of the arrays: kPred, kB16, kB32, kB64, kB128, kF32, kF64; kNone from the last one on.
  // 8-bit values lie in 16-bit elements unless the register is wider.
  std::array<Type, kMaxAluDestinations> destinations{};
  std::array<Type, kMaxAluSources> sources{};
  // Whether the instruction also reads or writes the carry flag, a hidden register of every lane (kPred): it
  // is the last source, or the second destination. After a subtraction it holds the borrow.
  bool reads_carry = false;
  bool writes_carry = false;
};

// The entry of an instruction that only computes: integer, floating-point, comparison, logic, shift,
// conversion, data movement between registers. Nothing if the opcode is none of these (memory, control flow,
// warp and matrix operations are the interpreter's), or no such combination of modifiers exists. A negated
// predicate (`!p`) among the sources of set and setp is part of the entry. `registers` are the function's:
// only cvt looks at them, as its operands may be wider than its types. Without registers they count as not
// wider.
std::optional<AluEntry> find_alu(const Instruction& instruction, const std::vector<Register>& registers = {});

// Names of the opcodes that find_alu() knows, for messages and tests; ascending.
const std::vector<std::string>& alu_opcodes();

}  // namespace bicrl::ptx
