#include "sandbox/interpreter/ptx/alu/matrix_arithmetic.h"

#include <array>
#include <bit>
#include <cfenv>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "sandbox/interpreter/ptx/alu/lanes.h"

#define ALU_PART "sandbox/interpreter/ptx/alu/matrix_arithmetic.inc"
#include "sandbox/interpreter/ptx/alu/alu_isa_variants.inc"

namespace bicrl::ptx {

const MatrixArithmetic& matrix_arithmetic(IsaVariant variant) {
  static const MatrixArithmetic plain = baseline::functions(), fast = avx2::functions();
  return variant == IsaVariant::kAvx2 ? fast : plain;
}

}  // namespace bicrl::ptx
