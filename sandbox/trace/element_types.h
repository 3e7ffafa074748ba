// Element types of tensors as types of C++, and their values.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "sandbox/trace/trace.h"

namespace bicrl {

struct BFloat16 {
  uint16_t bits;
};

inline float bfloat_value(BFloat16 value) {
  const uint32_t wide = uint32_t{value.bits} << 16;
  float found = 0;
  memcpy(&found, &wide, sizeof found);
  return found;
}

// Calls visit(T{}) with the type that `dtype` stands for: float, double, _Float16, BFloat16, intN_t, uint8_t,
// bool.
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
