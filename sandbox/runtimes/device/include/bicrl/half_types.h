// c10::Half and c10::BFloat16: types of their own, as in torch. Arithmetic goes through float.
#pragma once
#include "bicrl/traits.h"

struct __half;
struct __nv_bfloat16;

namespace c10 {
struct alignas(2) Half {
  unsigned short x;
  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return {}; }
  Half() = default;
  constexpr Half(unsigned short bits, from_bits_t) : x(bits) {}
  Half(float value) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(value)); }
  template <class T, class = std::enable_if_t<std::is_same_v<T, ::__half>>>
  Half(const T& value) : x(reinterpret_cast<const unsigned short&>(value)) {}
  operator float() const {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x));
    return value;
  }
  template <class T, class = std::enable_if_t<std::is_same_v<T, ::__half>>>
  operator T() const {
    T value;
    reinterpret_cast<unsigned short&>(value) = x;
    return value;
  }
};
struct alignas(2) BFloat16 {
  unsigned short x;
  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return {}; }
  BFloat16() = default;
  constexpr BFloat16(unsigned short bits, from_bits_t) : x(bits) {}
  BFloat16(float value) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(x) : "f"(value)); }
  template <class T, class = std::enable_if_t<std::is_same_v<T, ::__nv_bfloat16>>>
  BFloat16(const T& value) : x(reinterpret_cast<const unsigned short&>(value)) {}
  operator float() const { return __uint_as_float(static_cast<unsigned>(x) << 16); }
  template <class T, class = std::enable_if_t<std::is_same_v<T, ::__nv_bfloat16>>>
  operator T() const {
    T value;
    reinterpret_cast<unsigned short&>(value) = x;
    return value;
  }
};

#define BICRL_OPERATOR(T, op)                                                                   \
  inline T operator op(const T& a, const T& b) { return T(float(a) op float(b)); }               \
  inline T& operator op##=(T& a, const T& b) { return a = T(float(a) op float(b)); }             \
  inline float operator op(const T& a, float b) { return float(a) op b; }                        \
  inline float operator op(float a, const T& b) { return a op float(b); }                        \
  inline double operator op(const T& a, double b) { return float(a) op b; }                      \
  inline double operator op(double a, const T& b) { return a op float(b); }                      \
  inline T operator op(const T& a, int b) { return T(float(a) op float(b)); }                    \
  inline T operator op(int a, const T& b) { return T(float(a) op float(b)); }                    \
  inline T operator op(const T& a, int64_t b) { return T(float(a) op float(b)); }                \
  inline T operator op(int64_t a, const T& b) { return T(float(a) op float(b)); }                \
  inline float& operator op##=(float& a, const T& b) { return a = a op float(b); }
#define BICRL_OPERATORS(T) \
  BICRL_OPERATOR(T, +)     \
  BICRL_OPERATOR(T, -)     \
  BICRL_OPERATOR(T, *)     \
  BICRL_OPERATOR(T, /)     \
  inline T operator-(const T& a) { return T(-float(a)); }
BICRL_OPERATORS(Half)
BICRL_OPERATORS(BFloat16)
#undef BICRL_OPERATORS
#undef BICRL_OPERATOR
}  // namespace c10

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
