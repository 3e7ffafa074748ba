// <limits>
#pragma once
#include "bicrl/integers.h"

namespace std {

template <class T>
class numeric_limits {
 public:
  static constexpr bool is_specialized = false;
};
#define BICRL_LIMITS(T, low, high, bits, integer)                             \
  template <>                                                                 \
  class numeric_limits<T> {                                                   \
   public:                                                                    \
    static constexpr bool is_specialized = true, is_integer = integer;        \
    static constexpr bool is_signed = static_cast<T>(-1) < static_cast<T>(0); \
    static constexpr bool has_infinity = false, has_quiet_NaN = false;        \
    static constexpr int digits = bits, radix = 2;                            \
    static constexpr T min() noexcept { return low; }                         \
    static constexpr T lowest() noexcept { return low; }                      \
    static constexpr T max() noexcept { return high; }                        \
    static constexpr T epsilon() noexcept { return 0; }                       \
    static constexpr T infinity() noexcept { return 0; }                      \
  };
BICRL_LIMITS(bool, false, true, 1, true)
BICRL_LIMITS(char, CHAR_MIN, CHAR_MAX, 7, true)
BICRL_LIMITS(signed char, SCHAR_MIN, SCHAR_MAX, 7, true)
BICRL_LIMITS(unsigned char, 0, UCHAR_MAX, 8, true)
BICRL_LIMITS(short, SHRT_MIN, SHRT_MAX, 15, true)
BICRL_LIMITS(unsigned short, 0, USHRT_MAX, 16, true)
BICRL_LIMITS(int, INT_MIN, INT_MAX, 31, true)
BICRL_LIMITS(unsigned, 0, UINT_MAX, 32, true)
BICRL_LIMITS(long, LONG_MIN, LONG_MAX, 63, true)
BICRL_LIMITS(unsigned long, 0, ULONG_MAX, 64, true)
BICRL_LIMITS(long long, LLONG_MIN, LLONG_MAX, 63, true)
BICRL_LIMITS(unsigned long long, 0, ULLONG_MAX, 64, true)
#undef BICRL_LIMITS
#define BICRL_LIMITS(T, P, infinite, nan)                                                   \
  template <>                                                                               \
  class numeric_limits<T> {                                                                 \
   public:                                                                                  \
    static constexpr bool is_specialized = true, is_integer = false;                        \
    static constexpr bool is_signed = true, has_infinity = true;                            \
    static constexpr bool has_quiet_NaN = true, is_iec559 = true;                           \
    static constexpr int digits = P##_MANT_DIG, digits10 = P##_DIG;                         \
    static constexpr int max_exponent = P##_MAX_EXP, min_exponent = P##_MIN_EXP, radix = 2; \
    static constexpr T min() noexcept { return P##_MIN; }                                   \
    static constexpr T lowest() noexcept { return -P##_MAX; }                               \
    static constexpr T max() noexcept { return P##_MAX; }                                   \
    static constexpr T epsilon() noexcept { return P##_EPSILON; }                           \
    static constexpr T denorm_min() noexcept { return P##_TRUE_MIN; }                       \
    static constexpr T infinity() noexcept { return infinite; }                             \
    static constexpr T quiet_NaN() noexcept { return nan; }                                 \
  };
BICRL_LIMITS(float, FLT, __builtin_bit_cast(float, 0x7f800000u), __builtin_bit_cast(float, 0x7fc00000u))
BICRL_LIMITS(double, DBL, __builtin_bit_cast(double, 0x7ff0000000000000ull),
             __builtin_bit_cast(double, 0x7ff8000000000000ull))
#undef BICRL_LIMITS
template <class T>
class numeric_limits<const T> : public numeric_limits<T> {};

}  // namespace std
