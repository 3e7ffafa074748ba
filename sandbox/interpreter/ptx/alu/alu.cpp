#include "sandbox/interpreter/ptx/alu/alu.h"

#include <algorithm>

#include "sandbox/interpreter/ptx/alu/alu_table.h"

namespace bicrl::ptx {
namespace {

AluTable make_table(IsaVariant variant) {
  AluTable table;
  add_integer_entries(table, variant);
  add_bit_entries(table, variant);
  add_move_entries(table, variant);
  add_compare_entries(table, variant);
  add_convert_entries(table, variant);
  add_bytes_entries(table, variant);
  add_narrow_entries(table, variant);
  add_resize_entries(table, variant);
  add_float_entries(table, variant);
  add_approximate_entries(table, variant);
  add_half_entries(table, variant);
  return table;
}

std::string vector_form(const Instruction& instruction) {
  const std::vector<Operand>& operands = instruction.operands;
  if (operands.size() != 2) return "";
  if (operands[0].kind == Operand::Kind::kVector)
    return "/unpack" + std::to_string(operands[0].elements.size());
  if (operands[1].kind == Operand::Kind::kVector)
    return "/pack" + std::to_string(operands[1].elements.size());
  return "";
}

std::string comparison_form(const Instruction& instruction) {
  const std::vector<Operand>& operands = instruction.operands;
  if (operands.empty()) return "";
  std::string form;
  if (operands[0].kind == Operand::Kind::kPair) form += "/pq";
  if (operands.back().negated) form += "/not";
  return form;
}

int bits_of_integer(const std::string& type) {
  if (type == "u8" || type == "s8") return 8;
  if (type == "u16" || type == "s16") return 16;
  if (type == "u32" || type == "s32") return 32;
  if (type == "u64" || type == "s64") return 64;
  return 0;
}
int bits_of_register(Type type) {
  switch (type) {
    case Type::kB16:
    case Type::kU16:
    case Type::kS16:
      return 16;
    case Type::kB32:
    case Type::kU32:
    case Type::kS32:
      return 32;
    case Type::kB64:
    case Type::kU64:
    case Type::kS64:
      return 64;
    default:
      return 0;
  }
}

// "/to64" if the destination is wider than its type, "/from32" if the source is.
std::string conversion_form(const Instruction& instruction, const std::vector<Register>& registers) {
  if (instruction.modifiers.size() < 2 || instruction.operands.size() != 2) return "";
  auto form = [&](const char* word, const std::string& type, const Operand& operand) -> std::string {
    int bits = bits_of_integer(type);
    if (bits == 0 || operand.kind != Operand::Kind::kRegister || operand.index >= registers.size()) return "";
    int available = bits_of_register(registers[operand.index].type);
    return available > std::max(bits, 16) ? word + std::to_string(available) : "";
  };
  size_t last = instruction.modifiers.size() - 1;
  return form("/to", instruction.modifiers[last - 1], instruction.operands[0]) +
         form("/from", instruction.modifiers[last], instruction.operands[1]);
}

}  // namespace

IsaVariant best_isa_variant() {
#if defined(__x86_64__)
  static const bool avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  return avx2 ? IsaVariant::kAvx2 : IsaVariant::kBaseline;
#else
  return IsaVariant::kBaseline;
#endif
}

const AluTable& alu_table(IsaVariant variant) {
  // Each when it is asked for: a short run of the interpreter would make one in vain.
  if (variant == IsaVariant::kAvx2) {
    static const AluTable fast = make_table(IsaVariant::kAvx2);
    return fast;
  }
  static const AluTable plain = make_table(IsaVariant::kBaseline);
  return plain;
}

std::optional<AluEntry> find_alu_variant(IsaVariant variant, const Instruction& instruction,
                                         const std::vector<Register>& registers) {
  std::string name = instruction.opcode;
  for (const std::string& modifier : instruction.modifiers) name += "." + modifier;
  if (instruction.opcode == "mov") name += vector_form(instruction);
  if (instruction.opcode == "setp") name += comparison_form(instruction);
  if (instruction.opcode == "cvt") name += conversion_form(instruction, registers);
  const AluEntry* found = alu_table(variant).find(name);
  if (found == nullptr) return std::nullopt;
  return *found;
}

std::optional<AluEntry> find_alu(const Instruction& instruction, const std::vector<Register>& registers) {
  return find_alu_variant(best_isa_variant(), instruction, registers);
}

const std::vector<std::string>& alu_opcodes() {
  static const std::vector<std::string> opcodes = [] {
    std::vector<std::string> names;
    for (const auto& [name, entry] : alu_table(best_isa_variant()).entries())
      names.push_back(name.substr(0, name.find('.')));
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  }();
  return opcodes;
}

}  // namespace bicrl::ptx
