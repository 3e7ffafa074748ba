#include "sandbox/interpreter/ptx/operations/matrix_operations.h"

#include <bit>
#include <cstring>
#include <type_traits>

#include "sandbox/interpreter/ptx/alu/matrix_arithmetic.h"
#include "sandbox/interpreter/ptx/alu/matrix_formats.h"
#include "sandbox/interpreter/ptx/execution/grid.h"

namespace bicrl::ptx {
namespace {

constexpr int kMaxSide = 32;  // of a matrix

const MatrixFormat& format_of(const Operation& op) { return matrix_formats()[op.detail & kFormatMask]; }

const MatrixArithmetic& arithmetic() {
  static const MatrixArithmetic& best = matrix_arithmetic(best_isa_variant());
  return best;
}

// ---- Products ----

template <class Number>
struct Matrix {
  alignas(64) Number values[kMaxMatrixElements];
  bool undefined[kMaxMatrixElements];  // filled in if any is
  bool any_undefined = false;
};

// The bits of an element that count.
constexpr uint64_t significant_bits(Type type) {
  return packed_elements(type) == 2 ? 0xFFFF : type == Type::kTF32 ? 0xFFFFE000 : ~uint64_t{0};
}

// Calls work(register, half, positions of the 32 lanes) for the distinct elements of a fragment.
template <class Work>
void for_each_element(Type type, const FragmentLayout& layout, const Work& work) {
  const int packed = packed_elements(type);
  for (int element = 0; element < layout.elements; ++element)
    work(element / packed, element % packed, layout.positions.data() + element * kWarpLanes);
}

template <class Element>
void read_undefined(WarpGroup& warp_group, const Place* registers, Type type, const FragmentLayout& layout,
                    int first, bool* undefined, bool& any) {
  const int packed = packed_elements(type);
  const auto bits = static_cast<Element>(significant_bits(type));
  const auto shadow_of = [&](int number) {
    return warp_group.shadows<Element>(registers[number]) + first * packed;
  };
  Element all = 0;
  for (int number = 0; number * packed < layout.elements; ++number)
    for (int i = 0; i < kWarpLanes * packed; ++i) all |= shadow_of(number)[i] & bits;
  any = all != 0;
  if (!any) return;
  for_each_element(type, layout, [&](int number, int half, const uint16_t* positions) {
    for (int lane = 0; lane < kWarpLanes; ++lane)
      undefined[positions[lane]] = (shadow_of(number)[lane * packed + half] & bits) != 0;
  });
}

// The numbers that a register holds, of all lanes of the warp.
const float* numbers_of(WarpGroup& warp_group, Place place, Type type, int first, float* space) {
  const auto halves = [&] { return warp_group.values<uint16_t>(place) + first * 2; };
  if (type == Type::kF16) {
    arithmetic().widen_f16(halves(), space, 2 * kWarpLanes);
  } else if (type == Type::kBF16) {
    arithmetic().widen_bf16(halves(), space, 2 * kWarpLanes);
  } else if (type == Type::kTF32) {
    arithmetic().cut_tf32(warp_group.values<float>(place) + first, space, kWarpLanes);
  } else {
    return warp_group.values<float>(place) + first;
  }
  return space;
}
const double* numbers_of(WarpGroup& warp_group, Place place, Type, int first, double*) {
  return warp_group.values<double>(place) + first;
}

template <class Number>
void read_matrix(WarpGroup& warp_group, const Place* registers, Type type, const FragmentLayout& layout,
                 int first, Matrix<Number>& matrix) {
  const int packed = packed_elements(type);
  alignas(64) Number space[2 * kWarpLanes];
  const Number* numbers = nullptr;
  for_each_element(type, layout, [&](int number, int half, const uint16_t* positions) {
    if (half == 0) numbers = numbers_of(warp_group, registers[number], type, first, space);
    for (int lane = 0; lane < kWarpLanes; ++lane)
      matrix.values[positions[lane]] = numbers[lane * packed + half];
  });
  matrix.any_undefined = false;
  if (!warp_group.has_shadows()) return;
  if (packed == 2)
    read_undefined<uint16_t>(warp_group, registers, type, layout, first, matrix.undefined,
                             matrix.any_undefined);
  else if (sizeof(Number) == 4)
    read_undefined<uint32_t>(warp_group, registers, type, layout, first, matrix.undefined,
                             matrix.any_undefined);
  else
    read_undefined<uint64_t>(warp_group, registers, type, layout, first, matrix.undefined,
                             matrix.any_undefined);
}

template <class Element, class Number>
void write_elements(WarpGroup& warp_group, const Place* registers, Type type, const FragmentLayout& layout,
                    int first, const Matrix<Number>& matrix) {
  const int packed = packed_elements(type);
  for_each_element(type, layout, [&](int number, int half, const uint16_t* positions) {
    const Place place = registers[number];
    if (!place) return;  // _
    alignas(64) Number numbers[kWarpLanes];
    alignas(64) Element elements[kWarpLanes];
    for (int lane = 0; lane < kWarpLanes; ++lane) numbers[lane] = matrix.values[positions[lane]];
    if constexpr (sizeof(Element) == sizeof(Number))
      memcpy(elements, numbers, sizeof elements);
    else
      arithmetic().narrow_f16(numbers, elements, kWarpLanes);
    Element* to = warp_group.values<Element>(place) + first * packed + half;
    for (int lane = 0; lane < kWarpLanes; ++lane) to[lane * packed] = elements[lane];
    if (!warp_group.has_shadows()) return;
    Element* shadow = warp_group.shadows<Element>(place) + first * packed + half;
    for (int lane = 0; lane < kWarpLanes; ++lane)
      shadow[lane * packed] =
          matrix.any_undefined && matrix.undefined[positions[lane]] ? static_cast<Element>(~Element{0}) : 0;
  });
}

template <class Number>
void spread_undefined(const MatrixFormat& format, const Matrix<Number>& a, const Matrix<Number>& b,
                      const Matrix<Number>& c, Matrix<Number>& d) {
  d.any_undefined = a.any_undefined || b.any_undefined || c.any_undefined;
  if (!d.any_undefined) return;
  bool rows[kMaxSide] = {}, columns[kMaxSide] = {};
  if (a.any_undefined)
    for (int i = 0; i < format.m * format.k; ++i) rows[i / format.k] |= a.undefined[i];
  if (b.any_undefined)
    for (int i = 0; i < format.k * format.n; ++i) columns[i % format.n] |= b.undefined[i];
  for (int i = 0; i < format.m * format.n; ++i)
    d.undefined[i] = rows[i / format.n] || columns[i % format.n] || (c.any_undefined && c.undefined[i]);
}

template <class Number>
void multiply(WarpGroup& warp_group, const Operation& op) {
  const MatrixFormat& format = format_of(op);
  const Type wide = sizeof(Number) == 8 ? Type::kF64 : Type::kF32;
  const Type result = op.detail & kNarrowResult ? Type::kF16 : wide;
  const Type addend = op.detail & kNarrowAddend ? Type::kF16 : wide;
  const Place* to = warp_group.kernel().more[op.more].data();
  const Place* left = to + register_count(format.accumulator, result);
  const Place* right = left + register_count(format.left, format.type);
  const Place* added = right + register_count(format.right, format.type);
  for_each_whole_warp(warp_group, [&](int first) {
    Matrix<Number> a, b, c, d;
    read_matrix(warp_group, left, format.type, format.left, first, a);
    read_matrix(warp_group, right, format.type, format.right, first, b);
    read_matrix(warp_group, added, addend, format.accumulator, first, c);
    if constexpr (sizeof(Number) == 8)
      arithmetic().multiply_f64(a.values, b.values, c.values, d.values, format.m, format.n, format.k);
    else
      arithmetic().multiply(a.values, b.values, c.values, d.values, format.m, format.n, format.k);
    spread_undefined(format, a, b, c, d);
    if constexpr (sizeof(Number) == 4) {
      if (result == Type::kF16)
        write_elements<uint16_t>(warp_group, to, result, format.accumulator, first, d);
      else
        write_elements<uint32_t>(warp_group, to, result, format.accumulator, first, d);
    } else {
      write_elements<uint64_t>(warp_group, to, result, format.accumulator, first, d);
    }
    // As much work as that many other operations.
    warp_group.grid().count_work(static_cast<uint64_t>(format.m * format.n * format.k / 64), kWarpLanes);
  });
}

}  // namespace

void fail_incomplete_warp(WarpGroup& warp_group, int warp) {
  warp_group.fail(FaultClass::kBarrier, "a matrix operation of a warp that has not all its 32 lanes any more",
                  warp * kWarpLanes + std::countr_zero(warp_group.active().warps[static_cast<size_t>(warp)]));
}

void multiply_matrices(WarpGroup& warp_group, const Operation& op) {
  if (format_of(op).type == Type::kF64)
    multiply<double>(warp_group, op);
  else
    multiply<float>(warp_group, op);
}

}  // namespace bicrl::ptx
