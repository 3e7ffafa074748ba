// The 8-bit floats of PyTorch, float8_e4m3fn and float8_e5m2: a byte to its value and back, rounded to the
// nearest, ties to even, as PyTorch casts.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace bicrl {

// Bits of the fraction; the exponent has the other seven.
template <int fraction_bits, bool has_infinity>
struct Float8 {
  uint8_t bits;

  static constexpr int kBias = (1 << (6 - fraction_bits)) - 1;
  static constexpr uint8_t kNan = 0x7F;
  // Beyond the largest number: infinity, or not a number where there is none.
  static constexpr uint8_t kBeyond = has_infinity ? 0x7F << fraction_bits & 0x7F : kNan;

  static float value_of(uint8_t bits) {
    const int exponent = (bits & 0x7F) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
    float size = 0;
    if ((bits & 0x7F) == kNan || (has_infinity && (bits & 0x7F) > kBeyond))
      size = std::numeric_limits<float>::quiet_NaN();
    else if (has_infinity && (bits & 0x7F) == kBeyond)
      size = std::numeric_limits<float>::infinity();
    else if (exponent == 0)
      size = std::ldexp(static_cast<float>(fraction), 1 - kBias - fraction_bits);
    else
      size =
          std::ldexp(static_cast<float>(fraction + (1 << fraction_bits)), exponent - kBias - fraction_bits);
    return bits & 0x80 ? -size : size;
  }

  static uint8_t bits_of(float value) {
    const uint8_t sign = std::signbit(value) ? 0x80 : 0;
    if (std::isnan(value)) return sign | kNan;
    const float size = std::abs(value);
    if (std::isinf(size)) return sign | kBeyond;
    // In units of the last place, subnormal numbers in those of the least normal one.
    const int exponent = size == 0 ? 1 - kBias : std::max(std::ilogb(size), 1 - kBias);
    const auto units = static_cast<int64_t>(std::nearbyint(std::ldexp(size, fraction_bits - exponent)));
    const int64_t magnitude = units + (int64_t{exponent + kBias - 1} << fraction_bits);
    return sign | (magnitude >= kBeyond ? kBeyond : static_cast<uint8_t>(magnitude));
  }

  float value() const { return value_of(bits); }
  static Float8 of(float value) { return {bits_of(value)}; }
};

using Float8E4M3 = Float8<3, false>;
using Float8E5M2 = Float8<2, true>;

}  // namespace bicrl
