// Element types of tensors as types of C++, and their values.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "sandbox/recorder/trace/float8.h"
#include "sandbox/recorder/trace/trace.h"

namespace bicrl {

// fp32 to bf16, to the nearest, ties to even.
inline uint16_t bfloat_bits(float value) {
  uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  if (value != value) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

struct BFloat16 {
  uint16_t bits;

  static BFloat16 of(float value) { return {bfloat_bits(value)}; }
  float value() const {
    const uint32_t wide = uint32_t{bits} << 16;
    float found = 0;
    memcpy(&found, &wide, sizeof found);
    return found;
  }
};

// Types that C++ has no arithmetic for: value() and of() convert to float and back.
template <class T>
inline constexpr bool kIsPacked =
    std::is_same_v<T, BFloat16> || std::is_same_v<T, Float8E4M3> || std::is_same_v<T, Float8E5M2>;

template <class T>
double element_value(T element) {
  if constexpr (kIsPacked<T>)
    return double{element.value()};
  else
    return static_cast<double>(element);
}

// Calls visit(T{}) with the type that `dtype` stands for: float, double, _Float16, BFloat16, Float8E4M3,
// Float8E5M2, intN_t, uint8_t, bool.
template <class Visit>
void with_element_type(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::kFloat32:
      return visit(float{});
    case DType::kFloat64:
      return visit(double{});
    case DType::kFloat16:
      return visit(_Float16{});
    case DType::kBFloat16:
      return visit(BFloat16{});
    case DType::kInt8:
      return visit(int8_t{});
    case DType::kUInt8:
      return visit(uint8_t{});
    case DType::kInt16:
      return visit(int16_t{});
    case DType::kInt32:
      return visit(int32_t{});
    case DType::kInt64:
      return visit(int64_t{});
    case DType::kBool:
      return visit(bool{});
    case DType::kFloat8E4M3:
      return visit(Float8E4M3{});
    case DType::kFloat8E5M2:
      return visit(Float8E5M2{});
  }
}

// A value at any address. A bool in memory may hold any byte, so it is loaded as that byte.
template <class T>
auto load_element(const void* from) {
  std::conditional_t<std::is_same_v<T, bool>, uint8_t, T> value;
  memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace bicrl
