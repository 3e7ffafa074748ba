// c10::Half, c10::BFloat16 and the 8-bit floats: types of their own, as in torch. Arithmetic goes through
// float.
#pragma once
#include "bicrl/core.h"

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
  explicit operator T() const {
    T value;
    reinterpret_cast<unsigned short&>(value) = x;
    return value;
  }
};

// The device's conversion saturates. torch's does not: what is rounded beyond the largest number is none, or
// infinite where that exists.
#define BICRL_FLOAT8(T, format, beyond, bits_beyond)                                               \
  struct T {                                                                                       \
    unsigned char x;                                                                               \
    T() = default;                                                                                 \
    T(float value) {                                                                               \
      unsigned short pair;                                                                         \
      asm("cvt.rn.satfinite." format "x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));   \
      x = static_cast<unsigned char>(pair);                                                        \
      if (!(::fabsf(value) < beyond)) x = (x & 0x80) | (value != value ? 0x7f : bits_beyond);      \
    }                                                                                              \
    operator float() const {                                                                       \
      unsigned pair;                                                                               \
      asm("cvt.rn.f16x2." format "x2 %0, %1;" : "=r"(pair) : "h"(static_cast<unsigned short>(x))); \
      return Half(static_cast<unsigned short>(pair), Half::from_bits());                           \
    }                                                                                              \
  };
BICRL_FLOAT8(Float8_e4m3fn, "e4m3", 464.00003f, 0x7f)
BICRL_FLOAT8(Float8_e5m2, "e5m2", 61440.0f, 0x7c)
#undef BICRL_FLOAT8

#define BICRL_OPERATOR(T, op)                                                        \
  inline T operator op(const T& a, const T& b) { return T(float(a) op float(b)); }   \
  inline T& operator op##=(T& a, const T& b) { return a = T(float(a) op float(b)); } \
  inline float operator op(const T& a, float b) { return float(a) op b; }            \
  inline float operator op(float a, const T& b) { return a op float(b); }            \
  inline double operator op(const T& a, double b) { return float(a) op b; }          \
  inline double operator op(double a, const T& b) { return a op float(b); }          \
  inline T operator op(const T& a, int b) { return T(float(a) op float(b)); }        \
  inline T operator op(int a, const T& b) { return T(float(a) op float(b)); }        \
  inline T operator op(const T& a, int64_t b) { return T(float(a) op float(b)); }    \
  inline T operator op(int64_t a, const T& b) { return T(float(a) op float(b)); }    \
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
inline Half __ldg(const Half* p) {
  return {::__ldg(reinterpret_cast<const unsigned short*>(p)), Half::from_bits()};
}
inline BFloat16 __ldg(const BFloat16* p) {
  return {::__ldg(reinterpret_cast<const unsigned short*>(p)), BFloat16::from_bits()};
}
}  // namespace c10
