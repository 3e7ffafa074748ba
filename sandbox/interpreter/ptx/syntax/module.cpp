#include "sandbox/interpreter/ptx/syntax/module.h"

#include <algorithm>
#include <array>

namespace bicrl::ptx {
namespace {

struct TypeName {
  std::string_view name;
  Type type;
  int bytes;
};

constexpr std::array kTypes = {TypeName{"pred", Type::kPred, 0}, TypeName{"b8", Type::kB8, 1},
                               TypeName{"b16", Type::kB16, 2},   TypeName{"b32", Type::kB32, 4},
                               TypeName{"b64", Type::kB64, 8},   TypeName{"b128", Type::kB128, 16},
                               TypeName{"u8", Type::kU8, 1},     TypeName{"u16", Type::kU16, 2},
                               TypeName{"u32", Type::kU32, 4},   TypeName{"u64", Type::kU64, 8},
                               TypeName{"s8", Type::kS8, 1},     TypeName{"s16", Type::kS16, 2},
                               TypeName{"s32", Type::kS32, 4},   TypeName{"s64", Type::kS64, 8},
                               TypeName{"f16", Type::kF16, 2},   TypeName{"f16x2", Type::kF16x2, 4},
                               TypeName{"bf16", Type::kBF16, 2}, TypeName{"bf16x2", Type::kBF16x2, 4},
                               TypeName{"tf32", Type::kTF32, 4}, TypeName{"f32", Type::kF32, 4},
                               TypeName{"f64", Type::kF64, 8}};

const TypeName* find_type(Type type) {
  for (const TypeName& entry : kTypes)
    if (entry.type == type) return &entry;
  return nullptr;
}

}  // namespace

Type parse_type(std::string_view name) {
  for (const TypeName& entry : kTypes)
    if (entry.name == name) return entry.type;
  return Type::kNone;
}

std::string to_string(Type type) {
  const TypeName* entry = find_type(type);
  return entry ? std::string(entry->name) : "none";
}

int bytes_of(Type type) {
  const TypeName* entry = find_type(type);
  return entry ? entry->bytes : 0;
}

bool Instruction::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::string Instruction::name() const {
  std::string out = opcode;
  for (const std::string& modifier : modifiers) out += "." + modifier;
  return out;
}

const Function* Module::find_entry(std::string_view name) const {
  for (const Function& function : functions)
    if (function.is_entry && function.name == name) return &function;
  return nullptr;
}

}  // namespace bicrl::ptx
