#include <array>
#include <bit>
#include <cfenv>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "sandbox/interpreter/ptx/alu/alu_table.h"
#include "sandbox/interpreter/ptx/alu/lanes.h"

#define ALU_PART "sandbox/interpreter/ptx/alu/alu_integer.inc"
#include "sandbox/interpreter/ptx/alu/alu_isa_variants.inc"

namespace bicrl::ptx {

void add_integer_entries(AluTable& table, IsaVariant variant) {
  variant == IsaVariant::kAvx2 ? avx2::add_entries(table) : baseline::add_entries(table);
}

}  // namespace bicrl::ptx
