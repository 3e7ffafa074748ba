// __half, __nv_bfloat16, their pairs, torch's twins of them, and the usual functions. Arithmetic is done in
// float and rounded once.
#pragma once
#include "bicrl/device.h"
#include "bicrl/types.h"

#pragma GCC visibility push(default)
extern "C" float bicrl_half_to_float(unsigned short bits) noexcept;
extern "C" unsigned short bicrl_float_to_half(float value) noexcept;
extern "C" float bicrl_e4m3_to_float(unsigned char bits) noexcept;
extern "C" unsigned char bicrl_float_to_e4m3(float value) noexcept;
extern "C" float bicrl_e5m2_to_float(unsigned char bits) noexcept;
extern "C" unsigned char bicrl_float_to_e5m2(float value) noexcept;
#pragma GCC visibility pop
namespace bicrl {
inline float bfloat_to_float(unsigned short bits) {
  return __builtin_bit_cast(float, static_cast<unsigned>(bits) << 16);
}
inline unsigned short float_to_bfloat(float value) {
  const unsigned bits = __builtin_bit_cast(unsigned, value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}
}  // namespace bicrl

#define BICRL_SMALL_FLOAT(T, twin, from, to)                          \
  struct T {                                                          \
    unsigned short x;                                                 \
    T() = default;                                                    \
    T(const twin& v);                                                 \
    T(float v) : x(to(v)) {}                                          \
    T(double v) : x(to(static_cast<float>(v))) {}                     \
    T(int v) : x(to(static_cast<float>(v))) {}                        \
    T(unsigned v) : x(to(static_cast<float>(v))) {}                   \
    T(long v) : x(to(static_cast<float>(v))) {}                       \
    T(unsigned long v) : x(to(static_cast<float>(v))) {}              \
    T(long long v) : x(to(static_cast<float>(v))) {}                  \
    operator float() const { return from(x); }                        \
    T& operator+=(T o) { return *this = T(float(*this) + float(o)); } \
    T& operator-=(T o) { return *this = T(float(*this) - float(o)); } \
    T& operator*=(T o) { return *this = T(float(*this) * float(o)); } \
    T& operator/=(T o) { return *this = T(float(*this) / float(o)); } \
    T& operator++() { return *this += T(1.0f); }                      \
  };                                                                  \
  inline T operator+(T a, T b) { return T(float(a) + float(b)); }     \
  inline T operator-(T a, T b) { return T(float(a) - float(b)); }     \
  inline T operator*(T a, T b) { return T(float(a) * float(b)); }     \
  inline T operator/(T a, T b) { return T(float(a) / float(b)); }     \
  inline T operator-(T a) { return T(-float(a)); }                    \
  inline bool operator==(T a, T b) { return float(a) == float(b); }   \
  inline bool operator!=(T a, T b) { return float(a) != float(b); }   \
  inline bool operator<(T a, T b) { return float(a) < float(b); }     \
  inline bool operator>(T a, T b) { return float(a) > float(b); }     \
  inline bool operator<=(T a, T b) { return float(a) <= float(b); }   \
  inline bool operator>=(T a, T b) { return float(a) >= float(b); }   \
  BICRL_MIXED(T, float, float)                                        \
  BICRL_MIXED(T, double, double)                                      \
  BICRL_MIXED(T, int, T)
#define BICRL_MIXED(T, O, R)                                                 \
  inline R operator+(T a, O b) { return R(float(a)) + R(b); }                \
  inline R operator-(T a, O b) { return R(float(a)) - R(b); }                \
  inline R operator*(T a, O b) { return R(float(a)) * R(b); }                \
  inline R operator/(T a, O b) { return R(float(a)) / R(b); }                \
  inline R operator+(O a, T b) { return R(a) + R(float(b)); }                \
  inline R operator-(O a, T b) { return R(a) - R(float(b)); }                \
  inline R operator*(O a, T b) { return R(a) * R(float(b)); }                \
  inline R operator/(O a, T b) { return R(a) / R(float(b)); }                \
  inline bool operator<(T a, O b) { return double(float(a)) < double(b); }   \
  inline bool operator>(T a, O b) { return double(float(a)) > double(b); }   \
  inline bool operator<=(T a, O b) { return double(float(a)) <= double(b); } \
  inline bool operator>=(T a, O b) { return double(float(a)) >= double(b); } \
  inline bool operator==(T a, O b) { return double(float(a)) == double(b); } \
  inline bool operator!=(T a, O b) { return double(float(a)) != double(b); }
// torch's types are types of their own, as the mangled names of kernels say.
BICRL_SMALL_FLOAT(__half, c10::Half, bicrl_half_to_float, bicrl_float_to_half)
BICRL_SMALL_FLOAT(__nv_bfloat16, c10::BFloat16, bicrl::bfloat_to_float, bicrl::float_to_bfloat)
namespace c10 {
BICRL_SMALL_FLOAT(Half, ::__half, bicrl_half_to_float, bicrl_float_to_half)
BICRL_SMALL_FLOAT(BFloat16, ::__nv_bfloat16, bicrl::bfloat_to_float, bicrl::float_to_bfloat)
inline Half::Half(const ::__half& v) : x(v.x) {}
inline BFloat16::BFloat16(const ::__nv_bfloat16& v) : x(v.x) {}
}  // namespace c10
inline __half::__half(const c10::Half& v) : x(v.x) {}
inline __nv_bfloat16::__nv_bfloat16(const c10::BFloat16& v) : x(v.x) {}
#undef BICRL_SMALL_FLOAT
#undef BICRL_MIXED
namespace c10 {
struct Float8_e4m3fn {
  unsigned char x;
  Float8_e4m3fn() = default;
  Float8_e4m3fn(float v) : x(bicrl_float_to_e4m3(v)) {}
  operator float() const { return bicrl_e4m3_to_float(x); }
};
struct Float8_e5m2 {
  unsigned char x;
  Float8_e5m2() = default;
  Float8_e5m2(float v) : x(bicrl_float_to_e5m2(v)) {}
  operator float() const { return bicrl_e5m2_to_float(x); }
};
}  // namespace c10
typedef __half half;
typedef __nv_bfloat16 nv_bfloat16;

#define BICRL_PAIR(P, T)                                                                      \
  struct __attribute__((aligned(4))) P {                                                      \
    T x, y;                                                                                   \
    P() = default;                                                                            \
    P(T a, T b) : x(a), y(b) {}                                                               \
  };                                                                                          \
  inline P operator+(P a, P b) { return P(a.x + b.x, a.y + b.y); }                            \
  inline P operator-(P a, P b) { return P(a.x - b.x, a.y - b.y); }                            \
  inline P operator*(P a, P b) { return P(a.x * b.x, a.y * b.y); }                            \
  inline P operator/(P a, P b) { return P(a.x / b.x, a.y / b.y); }                            \
  inline P operator-(P a) { return P(-a.x, -a.y); }                                           \
  inline P& operator+=(P& a, P b) { return a = a + b; }                                       \
  inline P& operator*=(P& a, P b) { return a = a * b; }                                       \
  inline P __hadd2(P a, P b) { return a + b; }                                                \
  inline P __hsub2(P a, P b) { return a - b; }                                                \
  inline P __hmul2(P a, P b) { return a * b; }                                                \
  inline P __h2div(P a, P b) { return a / b; }                                                \
  inline P __hneg2(P a) { return -a; }                                                        \
  inline P __hfma2(P a, P b, P c) { return P(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); } \
  inline P __hmax2(P a, P b) { return P(__hmax(a.x, b.x), __hmax(a.y, b.y)); }                \
  inline P __hmin2(P a, P b) { return P(__hmin(a.x, b.x), __hmin(a.y, b.y)); }                \
  inline P __habs2(P a) { return P(__habs(a.x), __habs(a.y)); }                               \
  inline P h2exp(P a) { return P(hexp(a.x), hexp(a.y)); }                                     \
  inline P h2log(P a) { return P(hlog(a.x), hlog(a.y)); }                                     \
  inline P h2sqrt(P a) { return P(hsqrt(a.x), hsqrt(a.y)); }                                  \
  inline P h2rsqrt(P a) { return P(hrsqrt(a.x), hrsqrt(a.y)); }                               \
  inline P h2rcp(P a) { return P(hrcp(a.x), hrcp(a.y)); }
#define BICRL_INTRINSICS(T)                                                                  \
  inline T __hadd(T a, T b) { return a + b; }                                                \
  inline T __hsub(T a, T b) { return a - b; }                                                \
  inline T __hmul(T a, T b) { return a * b; }                                                \
  inline T __hdiv(T a, T b) { return a / b; }                                                \
  inline T __hneg(T a) { return -a; }                                                        \
  inline T __habs(T a) { return T(__builtin_fabsf(float(a))); }                              \
  inline T __hfma(T a, T b, T c) { return T(__builtin_fmaf(float(a), float(b), float(c))); } \
  inline T __hmax(T a, T b) { return T(__builtin_fmaxf(float(a), float(b))); }               \
  inline T __hmin(T a, T b) { return T(__builtin_fminf(float(a), float(b))); }               \
  inline bool __heq(T a, T b) { return a == b; }                                             \
  inline bool __hne(T a, T b) { return a != b; }                                             \
  inline bool __hlt(T a, T b) { return a < b; }                                              \
  inline bool __hle(T a, T b) { return a <= b; }                                             \
  inline bool __hgt(T a, T b) { return a > b; }                                              \
  inline bool __hge(T a, T b) { return a >= b; }                                             \
  inline bool __hisnan(T a) { return __builtin_isnan(float(a)); }                            \
  inline int __hisinf(T a) { return __builtin_isinf_sign(float(a)); }                        \
  inline T hexp(T a) { return T(__builtin_expf(float(a))); }                                 \
  inline T hexp2(T a) { return T(__builtin_exp2f(float(a))); }                               \
  inline T hlog(T a) { return T(__builtin_logf(float(a))); }                                 \
  inline T hlog2(T a) { return T(__builtin_log2f(float(a))); }                               \
  inline T hsqrt(T a) { return T(__builtin_sqrtf(float(a))); }                               \
  inline T hrsqrt(T a) { return T(1.0f / __builtin_sqrtf(float(a))); }                       \
  inline T hrcp(T a) { return T(1.0f / float(a)); }                                          \
  inline T hsin(T a) { return T(__builtin_sinf(float(a))); }                                 \
  inline T hcos(T a) { return T(__builtin_cosf(float(a))); }                                 \
  inline T htanh(T a) { return T(__builtin_tanhf(float(a))); }                               \
  inline T hfloor(T a) { return T(__builtin_floorf(float(a))); }                             \
  inline T hceil(T a) { return T(__builtin_ceilf(float(a))); }                               \
  inline bool isnan(T a) { return __builtin_isnan(float(a)); }                               \
  inline bool isinf(T a) { return __builtin_isinf(float(a)); }                               \
  inline T max(T a, T b) { return __hmax(a, b); }                                            \
  inline T min(T a, T b) { return __hmin(a, b); }
BICRL_INTRINSICS(__half)
BICRL_INTRINSICS(__nv_bfloat16)
BICRL_PAIR(__half2, __half)
BICRL_PAIR(__nv_bfloat162, __nv_bfloat16)
#undef BICRL_INTRINSICS
#undef BICRL_PAIR
typedef __half2 half2;
typedef __nv_bfloat162 nv_bfloat162;

inline __half __float2half(float v) { return __half(v); }
inline __half __float2half_rn(float v) { return __half(v); }
inline __half __double2half(double v) { return __half(v); }
inline float __half2float(__half v) { return float(v); }
inline __half __int2half_rn(int v) { return __half(v); }
inline __half __uint2half_rn(unsigned v) { return __half(v); }
inline int __half2int_rn(__half v) { return __float2int_rn(float(v)); }
inline int __half2int_rz(__half v) { return static_cast<int>(float(v)); }
inline unsigned short __half_as_ushort(__half v) { return v.x; }
inline short __half_as_short(__half v) { return static_cast<short>(v.x); }
inline __half __ushort_as_half(unsigned short bits) {
  __half v;
  v.x = bits;
  return v;
}
inline __half2 __half2half2(__half v) { return {v, v}; }
inline __half2 __halves2half2(__half a, __half b) { return {a, b}; }
inline __half2 make_half2(__half a, __half b) { return {a, b}; }
inline __half2 __float2half2_rn(float v) { return {__half(v), __half(v)}; }
inline __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
inline __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
inline float2 __half22float2(__half2 v) { return {float(v.x), float(v.y)}; }
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
inline float __low2float(__half2 v) { return float(v.x); }
inline float __high2float(__half2 v) { return float(v.y); }
inline __nv_bfloat16 __float2bfloat16(float v) { return __nv_bfloat16(v); }
inline __nv_bfloat16 __float2bfloat16_rn(float v) { return __nv_bfloat16(v); }
inline float __bfloat162float(__nv_bfloat16 v) { return float(v); }
inline __nv_bfloat162 __float2bfloat162_rn(float v) { return {__nv_bfloat16(v), __nv_bfloat16(v)}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {__nv_bfloat16(a), __nv_bfloat16(b)}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 v) { return {v, v}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {float(v.x), float(v.y)}; }
inline float __low2float(__nv_bfloat162 v) { return float(v.x); }
inline float __high2float(__nv_bfloat162 v) { return float(v.y); }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 v) { return v.x; }
