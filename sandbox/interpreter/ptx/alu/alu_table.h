// The instructions that find_alu() knows, by their text. Filled once by the alu_*.cpp files; immutable and
// thread-safe from then on.
//
// Every function exists twice, compiled from the same text for plain x86-64 and for AVX2, and both give the
// same bits: which of them runs is a matter of speed alone.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "sandbox/interpreter/ptx/alu/alu.h"

namespace bicrl::ptx {

enum class IsaVariant { kBaseline, kAvx2 };

class AluTable {
 public:
  // Adds the entry under every name that the pattern says: "add{.sat|}.{s32|u32}" means four. Of an entry
  // whose operands have a form of their own (a vector, p|q, !p) the form follows: "mov.b64/pack2".
  // Throws std::logic_error if there is such a name already.
  void add(std::string_view pattern, const AluEntry& entry);
  // Likewise, with $ in the pattern standing for `type`.
  void add(std::string_view pattern, std::string_view type, const AluEntry& entry);

  const AluEntry* find(const std::string& name) const;  // null: unknown
  const std::unordered_map<std::string, AluEntry>& entries() const { return entries_; }

 private:
  std::unordered_map<std::string, AluEntry> entries_;
};

// The variant that suits this processor.
IsaVariant best_isa_variant();
const AluTable& alu_table(IsaVariant variant);
// find_alu() with a variant of the caller's choice.
std::optional<AluEntry> find_alu_variant(IsaVariant variant, const Instruction& instruction,
                                         const std::vector<Register>& registers = {});

// The parts of the table, by subject.
void add_integer_entries(AluTable& table, IsaVariant variant);
void add_bit_entries(AluTable& table, IsaVariant variant);
void add_move_entries(AluTable& table, IsaVariant variant);
void add_compare_entries(AluTable& table, IsaVariant variant);
void add_convert_entries(AluTable& table, IsaVariant variant);
void add_bytes_entries(AluTable& table, IsaVariant variant);
void add_narrow_entries(AluTable& table, IsaVariant variant);
void add_resize_entries(AluTable& table, IsaVariant variant);
void add_float_entries(AluTable& table, IsaVariant variant);
void add_approximate_entries(AluTable& table, IsaVariant variant);
void add_half_entries(AluTable& table, IsaVariant variant);

}  // namespace bicrl::ptx
