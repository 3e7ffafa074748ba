// The matrix products that the interpreter has, and where the elements of their matrices lie among the
// registers of a warp. Immutable tables; thread-safe.
//
// The layouts of mma are those of the manual (section "Matrix Fragments for mma", by shape). Those of wmma
// are unspecified there; here they are the ones of mma, tile by tile, so that an element of an accumulator
// has one place whatever the types of the product are.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "sandbox/interpreter/ptx/alu/lanes.h"
#include "sandbox/interpreter/ptx/syntax/module.h"

namespace bicrl::ptx {

struct FragmentLayout {
  int rows = 0, columns = 0;
  int elements = 0;  // distinct ones of a lane
  int copies = 1;    // how often a lane's registers hold all of them, one copy after the other
  // [elements, 32 lanes]: row * columns + column.
  std::vector<uint16_t> positions;
  std::vector<uint16_t> turned;  // likewise: column * rows + row
};

struct MatrixFormat {
  std::string_view shape;  // "m16n8k16"
  bool wmma = false;       // of wmma; otherwise of mma
  Type type = Type::kF16;  // of A and B: kF16, kBF16, kTF32 or kF64
  int m = 0, n = 0, k = 0;
  FragmentLayout left, right, accumulator;  // A [m, k], B [k, n], C and D [m, n]
};

// Elements are at most 512 in a matrix.
constexpr int kMaxMatrixElements = 512;

const std::vector<MatrixFormat>& matrix_formats();

// Elements that a register holds: two of 16 bits, or one. Registers are 32 bits wide, of kF64 64.
constexpr int packed_elements(Type type) { return type == Type::kF16 || type == Type::kBF16 ? 2 : 1; }
inline int register_count(const FragmentLayout& layout, Type type) {
  return layout.elements * layout.copies / packed_elements(type);
}

}  // namespace bicrl::ptx
