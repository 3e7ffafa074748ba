#include "sandbox/interpreter/counting/instruction_cost.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>

#include "common/config/one_of.h"
#include "sandbox/cost/device_table.h"
#include "sandbox/interpreter/ptx/lowering/control_flow.h"

namespace bicrl {
namespace {

using ptx::Instruction;
using ptx::Type;
using Kind = InstructionKind;

Type last_type(const Instruction& instruction) {
  for (auto modifier = instruction.modifiers.rbegin(); modifier != instruction.modifiers.rend(); ++modifier)
    if (const Type type = ptx::parse_type(*modifier); type != Type::kNone) return type;
  return Type::kNone;
}

bool is_half(Type type) {
  return type == Type::kF16 || type == Type::kF16x2 || type == Type::kBF16 || type == Type::kBF16x2;
}
bool is_float(Type type) {
  return is_half(type) || type == Type::kF32 || type == Type::kF64 || type == Type::kTF32;
}

InstructionCost plain(Kind kind, uint32_t slots, uint64_t cycles) {
  InstructionCost cost;
  cost.kind = kind;
  cost.slots = slots;
  cost.cycles = static_cast<uint32_t>(cycles);
  return cost;
}
InstructionCost integer(uint32_t slots) { return plain(Kind::kInteger, slots, slots * kArithmeticCycles); }
InstructionCost nothing() { return plain(Kind::kInteger, 0, 0); }

// With results of the special unit on the way: an estimate that is refined by products.
InstructionCost refined(Kind kind, uint32_t slots, uint32_t special) {
  InstructionCost cost = plain(kind, slots, slots * kArithmeticCycles + special * kSpecialCycles);
  cost.special_slots = special;
  return cost;
}

InstructionCost arithmetic(Type type, uint32_t slots = 1) {
  if (type == Type::kF32) return plain(Kind::kFloat32, slots, slots * kArithmeticCycles);
  if (type == Type::kF64) return plain(Kind::kFloat64, slots, slots * kDoubleCycles);
  if (is_half(type)) return plain(Kind::kHalf, slots, slots * kArithmeticCycles);
  return integer(ptx::bytes_of(type) == 8 ? 2 * slots : slots);
}

InstructionCost product(const Instruction& instruction) {
  const Type type = last_type(instruction);
  if (is_float(type)) return arithmetic(type);
  // 64 bits are made of 32; a high half takes a second pass.
  if (ptx::bytes_of(type) == 8) return integer(instruction.has("wide") ? 1 : 4);
  return integer(instruction.has("hi") ? 2 : 1);
}

InstructionCost quotient(const Instruction& instruction) {
  const Type type = last_type(instruction);
  const bool exact =
      instruction.has("rn") || instruction.has("rz") || instruction.has("rm") || instruction.has("rp");
  if (type == Type::kF64) return refined(Kind::kFloat64, 20, 1);
  if (type == Type::kF32) return refined(Kind::kFloat32, exact ? 8 : 2, 1);
  return refined(Kind::kInteger, ptx::bytes_of(type) == 8 ? 70 : 16, 2);
}

InstructionCost special_function(const Instruction& instruction) {
  const Type type = last_type(instruction);
  const bool exact =
      instruction.has("rn") || instruction.has("rz") || instruction.has("rm") || instruction.has("rp");
  if (type == Type::kF64) return refined(Kind::kFloat64, 16, 1);
  if (exact) return refined(Kind::kFloat32, 7, 1);
  // Small numbers are scaled before and after, unless they may be flushed; angles are scaled always.
  const bool scales = is_one_of(instruction.opcode, {"sin", "cos"}) ||
                      (!instruction.has("ftz") && !is_half(type) && instruction.opcode != "tanh");
  return refined(Kind::kFloat32, scales ? 1 : 0, 1);
}

InstructionCost conversion(const Instruction& instruction) {
  int floats = 0;
  for (const std::string& modifier : instruction.modifiers) floats += is_float(ptx::parse_type(modifier));
  return floats > 0 ? plain(Kind::kConvert, 1, 2 * kArithmeticCycles) : integer(1);
}

InstructionCost memory(const Instruction& instruction) {
  const bool loads = instruction.opcode == "ld" || instruction.opcode == "ldu";
  for (const std::string_view space : {"param", "param::entry", "param::func"})
    if (instruction.has(space)) return nothing();
  if (instruction.has("const")) return plain(Kind::kInteger, 1, kSharedCycles);
  if (instruction.has("shared") || instruction.has("shared::cta"))
    return plain(Kind::kShared, 1, loads ? kSharedCycles : 0);
  InstructionCost cost = plain(instruction.has("local") ? Kind::kLocal : Kind::kGlobal, 1, 0);
  cost.waits_for_memory = loads;
  return cost;
}

InstructionCost atomic(const Instruction& instruction) {
  const bool returns = instruction.opcode == "atom";
  if (instruction.has("shared") || instruction.has("shared::cta"))
    return plain(Kind::kShared, 1, 2 * kSharedCycles);
  InstructionCost cost = plain(Kind::kGlobal, 1, 0);
  cost.waits_for_memory = returns;
  return cost;
}

// m16n8k16: 2 m n k operations.
uint64_t shape_flops(const Instruction& instruction) {
  for (const std::string& modifier : instruction.modifiers) {
    uint64_t flops = 2;
    size_t numbers = 0;
    const char *at = modifier.data(), *end = at + modifier.size();
    for (const char letter : {'m', 'n', 'k'}) {
      if (at == end || *at != letter) break;
      uint64_t size = 0;
      const auto [rest, error] = std::from_chars(at + 1, end, size);
      if (error != std::errc()) break;
      at = rest;
      flops *= size;
      ++numbers;
    }
    if (numbers == 3 && at == end) return flops;
  }
  return 0;
}

InstructionCost matrix(const Instruction& instruction) {
  const bool multiplies = instruction.opcode == "mma" || instruction.has("mma");
  if (!multiplies) {  // wmma.load and wmma.store: some accesses each
    InstructionCost cost = plain(instruction.has("shared") ? Kind::kShared : Kind::kGlobal, 4, 0);
    if (cost.kind == Kind::kShared) cost.cycles = kSharedCycles;
    cost.waits_for_memory = cost.kind == Kind::kGlobal && instruction.has("load");
    return cost;
  }
  InstructionCost cost = plain(Kind::kTensor, 1, kTensorCycles);
  cost.tensor_flops = shape_flops(instruction);
  const auto any = [&](std::initializer_list<std::string_view> types) {
    return std::any_of(types.begin(), types.end(),
                       [&](std::string_view type) { return instruction.has(type); });
  };
  if (any({"f64"}))
    cost.tensor_type = TensorType::kFloat64;
  else if (any({"tf32"}))
    cost.tensor_type = TensorType::kTF32;
  else if (any({"s8", "u8", "s4", "u4", "b1", "e4m3", "e5m2"}))
    cost.tensor_type = TensorType::kByte;
  // Machine instructions are of m16n8 at most.
  cost.slots = static_cast<uint32_t>(std::max<uint64_t>(1, cost.tensor_flops / (2 * 16 * 8 * 16)));
  return cost;
}

InstructionCost exchange(const Instruction& instruction) {
  if (instruction.opcode == "activemask" || instruction.opcode == "elect") return integer(1);
  const uint32_t slots = instruction.opcode == "match" ? 4 : 1;
  return plain(Kind::kExchange, slots, kExchangeCycles);
}

InstructionCost async_copy(const Instruction& instruction) {
  if (instruction.has("commit_group")) return plain(Kind::kControl, 1, 0);
  if (instruction.has("wait_group") || instruction.has("wait_all")) {
    InstructionCost cost = plain(Kind::kControl, 1, 0);
    cost.waits_for_memory = true;
    return cost;
  }
  return plain(Kind::kGlobal, 1, 0);
}

}  // namespace

InstructionCost cost_of(const Instruction& instruction) {
  const std::string_view opcode = instruction.opcode;
  if (is_one_of(opcode, {"ld", "ldu", "st"})) return memory(instruction);
  if (is_one_of(opcode, {"mov", "cvta", "pragma", "isspacep"})) return nothing();
  if (is_one_of(opcode, {"mul", "mad", "mul24", "mad24", "madc"})) return product(instruction);
  if (opcode == "fma") return arithmetic(last_type(instruction));
  if (is_one_of(opcode, {"div", "rem"})) return quotient(instruction);
  if (is_one_of(opcode, {"rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"}))
    return special_function(instruction);
  if (opcode == "cvt") return conversion(instruction);
  if (is_one_of(opcode, {"atom", "red"})) return atomic(instruction);
  if (is_one_of(opcode, {"mma", "wmma", "wgmma"})) return matrix(instruction);
  if (is_one_of(opcode, {"ldmatrix", "stmatrix"})) return plain(Kind::kShared, 1, kSharedCycles);
  if (opcode == "bar" && instruction.has("warp")) return plain(Kind::kExchange, 1, kArithmeticCycles);
  if (is_one_of(opcode, {"bar", "barrier", "mbarrier"})) return plain(Kind::kBarrier, 1, kBarrierCycles);
  if (ptx::is_warp_collective(opcode) || opcode == "movmatrix") return exchange(instruction);
  if (opcode == "cp") return async_copy(instruction);
  if (is_one_of(opcode, {"bra", "brx", "ret", "exit", "call", "nanosleep", "trap", "membar", "fence"}))
    return plain(Kind::kControl, 1, kArithmeticCycles);
  // Comparisons of numbers go where integers do; what computes with them, to their unit.
  if (is_one_of(opcode, {"setp", "set", "selp", "slct", "min", "max", "testp", "copysign"}))
    return arithmetic(
        last_type(instruction) == Type::kF64 ? Type::kF64 : Type::kB32,
        last_type(instruction) != Type::kF64 && ptx::bytes_of(last_type(instruction)) == 8 ? 2 : 1);
  if (is_one_of(opcode, {"popc", "clz", "brev", "bfind", "fns"})) return refined(Kind::kInteger, 0, 1);
  return arithmetic(last_type(instruction));
}

}  // namespace bicrl
