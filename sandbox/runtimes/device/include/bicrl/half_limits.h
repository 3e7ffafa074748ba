// numeric_limits of the small float types.
#pragma once
#include "bicrl/half_types.h"
#include "bicrl/limits.h"

namespace std {
template <>
class numeric_limits<c10::Half> {
 public:
  static constexpr bool is_specialized = true, is_integer = false, is_signed = true;
  static constexpr c10::Half bits(unsigned short x) { return {x, c10::Half::from_bits()}; }
  static constexpr c10::Half min() { return bits(0x0400); }
  static constexpr c10::Half lowest() { return bits(0xfbff); }
  static constexpr c10::Half max() { return bits(0x7bff); }
  static constexpr c10::Half epsilon() { return bits(0x1400); }
  static constexpr c10::Half infinity() { return bits(0x7c00); }
  static constexpr c10::Half quiet_NaN() { return bits(0x7e00); }
};
template <>
class numeric_limits<c10::BFloat16> {
 public:
  static constexpr bool is_specialized = true, is_integer = false, is_signed = true;
  static constexpr c10::BFloat16 bits(unsigned short x) { return {x, c10::BFloat16::from_bits()}; }
  static constexpr c10::BFloat16 min() { return bits(0x0080); }
  static constexpr c10::BFloat16 lowest() { return bits(0xff7f); }
  static constexpr c10::BFloat16 max() { return bits(0x7f7f); }
  static constexpr c10::BFloat16 epsilon() { return bits(0x3c00); }
  static constexpr c10::BFloat16 infinity() { return bits(0x7f80); }
  static constexpr c10::BFloat16 quiet_NaN() { return bits(0x7fc0); }
};
}  // namespace std
