// Mathematics as device code sees it. Two forms: if the candidate includes standard headers that bring the
// real <cmath> (BICRL_REAL_MATH, set by the splitter), its overloads are used; otherwise the same names are
// declared here, which saves a third of the compile time.
#pragma once
#include "bicrl/base.h"

#ifdef BICRL_REAL_MATH
#include <math.h>
#include <cmath>
#else
#include <bits/std_abs.h>
using std::abs;

#define BICRL_UNARY(name)                                          \
  extern "C" double name(double) noexcept;                         \
  extern "C" float name##f(float) noexcept;                        \
  inline float name(float x) { return name##f(x); }                \
  template <class T, typename bicrl::IntegerAsDouble<T>::type = 0> \
  inline double name(T x) {                                        \
    return name(static_cast<double>(x));                           \
  }                                                                \
  namespace std {                                                  \
  using ::name;                                                    \
  using ::name##f;                                                 \
  }
#define BICRL_BINARY(name)                                                     \
  extern "C" double name(double, double) noexcept;                             \
  extern "C" float name##f(float, float) noexcept;                             \
  inline float name(float x, float y) { return name##f(x, y); }                \
  template <class A, class B, typename bicrl::MixedArithmetic<A, B>::type = 0> \
  inline double name(A x, B y) {                                               \
    return name(static_cast<double>(x), static_cast<double>(y));               \
  }                                                                            \
  namespace std {                                                              \
  using ::name;                                                                \
  using ::name##f;                                                             \
  }
namespace bicrl {
template <class T>
struct IntegerAsDouble {};
template <class T>
struct IsNumber {
  static constexpr int kind = 0;
};
#define BICRL_INTEGER(T)           \
  template <>                      \
  struct IntegerAsDouble<T> {      \
    using type = int;              \
  };                               \
  template <>                      \
  struct IsNumber<T> {             \
    static constexpr int kind = 1; \
  };
BICRL_INTEGER(bool)
BICRL_INTEGER(char)
BICRL_INTEGER(signed char)
BICRL_INTEGER(unsigned char)
BICRL_INTEGER(short)
BICRL_INTEGER(unsigned short)
BICRL_INTEGER(int)
BICRL_INTEGER(unsigned)
BICRL_INTEGER(long)
BICRL_INTEGER(unsigned long)
BICRL_INTEGER(long long)
BICRL_INTEGER(unsigned long long)
#undef BICRL_INTEGER
template <>
struct IsNumber<float> {
  static constexpr int kind = 2;
};
template <>
struct IsNumber<double> {
  static constexpr int kind = 3;
};
template <bool>
struct When {};
template <>
struct When<true> {
  using type = int;
};
// Two numbers that are not both float nor both double: computed as double, as <cmath> does.
template <class A, class B>
struct MixedArithmetic : When<IsNumber<A>::kind && IsNumber<B>::kind &&
                              (IsNumber<A>::kind != IsNumber<B>::kind || IsNumber<A>::kind == 1)> {};
}  // namespace bicrl

BICRL_UNARY(acos)
BICRL_UNARY(acosh)
BICRL_UNARY(asin)
BICRL_UNARY(asinh)
BICRL_UNARY(atan)
BICRL_UNARY(atanh)
BICRL_UNARY(cbrt)
BICRL_UNARY(ceil)
BICRL_UNARY(cos)
BICRL_UNARY(cosh)
BICRL_UNARY(erf)
BICRL_UNARY(erfc)
BICRL_UNARY(exp)
BICRL_UNARY(exp2)
BICRL_UNARY(expm1)
BICRL_UNARY(fabs)
BICRL_UNARY(floor)
BICRL_UNARY(lgamma)
BICRL_UNARY(log)
BICRL_UNARY(log10)
BICRL_UNARY(log1p)
BICRL_UNARY(log2)
BICRL_UNARY(logb)
BICRL_UNARY(nearbyint)
BICRL_UNARY(rint)
BICRL_UNARY(round)
BICRL_UNARY(sin)
BICRL_UNARY(sinh)
BICRL_UNARY(sqrt)
BICRL_UNARY(tan)
BICRL_UNARY(tanh)
BICRL_UNARY(tgamma)
BICRL_UNARY(trunc)
BICRL_BINARY(atan2)
BICRL_BINARY(copysign)
BICRL_BINARY(fdim)
BICRL_BINARY(fmax)
BICRL_BINARY(fmin)
BICRL_BINARY(fmod)
BICRL_BINARY(hypot)
BICRL_BINARY(nextafter)
BICRL_BINARY(pow)
BICRL_BINARY(remainder)
#undef BICRL_UNARY
#undef BICRL_BINARY

#define BICRL_FLOAT_INT(result, name, ...)           \
  extern "C" result name(double) noexcept;           \
  extern "C" result name##f(float) noexcept;         \
  inline result name(float x) { return name##f(x); } \
  namespace std {                                    \
  using ::name;                                      \
  }
BICRL_FLOAT_INT(int, ilogb)
BICRL_FLOAT_INT(long, lround)
BICRL_FLOAT_INT(long, lrint)
BICRL_FLOAT_INT(long long, llround)
BICRL_FLOAT_INT(long long, llrint)
#undef BICRL_FLOAT_INT
extern "C" {
double fma(double, double, double) noexcept;
float fmaf(float, float, float) noexcept;
double ldexp(double, int) noexcept;
float ldexpf(float, int) noexcept;
double scalbn(double, int) noexcept;
float scalbnf(float, int) noexcept;
double frexp(double, int*) noexcept;
float frexpf(float, int*) noexcept;
double modf(double, double*) noexcept;
float modff(float, float*) noexcept;
double remquo(double, double, int*) noexcept;
float remquof(float, float, int*) noexcept;
double j0(double) noexcept;
double j1(double) noexcept;
double y0(double) noexcept;
double y1(double) noexcept;
float j0f(float) noexcept;
float j1f(float) noexcept;
float y0f(float) noexcept;
float y1f(float) noexcept;
}
inline float fma(float a, float b, float c) { return fmaf(a, b, c); }
inline float ldexp(float x, int e) { return ldexpf(x, e); }
inline float scalbn(float x, int e) { return scalbnf(x, e); }
inline float frexp(float x, int* e) { return frexpf(x, e); }
inline float modf(float x, float* i) { return modff(x, i); }
#define BICRL_CLASSIFY(name, builtin)                              \
  constexpr bool name(float x) { return builtin(x); }              \
  constexpr bool name(double x) { return builtin(x); }             \
  template <class T, typename bicrl::IntegerAsDouble<T>::type = 0> \
  constexpr bool name(T x) {                                       \
    return builtin(static_cast<double>(x));                        \
  }                                                                \
  namespace std {                                                  \
  using ::name;                                                    \
  }
BICRL_CLASSIFY(isnan, __builtin_isnan)
BICRL_CLASSIFY(isinf, __builtin_isinf)
BICRL_CLASSIFY(isfinite, __builtin_isfinite)
BICRL_CLASSIFY(isnormal, __builtin_isnormal)
BICRL_CLASSIFY(signbit, __builtin_signbit)
#undef BICRL_CLASSIFY
namespace std {
using ::fma;
using ::fmaf;
using ::frexp;
using ::ldexp;
using ::modf;
using ::remquo;
using ::scalbn;
}  // namespace std

#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#define HUGE_VAL (__builtin_huge_val())
#define HUGE_VALF (__builtin_huge_valf())
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
#include <float.h>
#include <limits.h>

// ---- What CUDA adds to the C library.
inline float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return 1.0f / __builtin_cbrtf(x); }
inline double rcbrt(double x) { return 1.0 / __builtin_cbrt(x); }
inline float exp10f(float x) { return __builtin_exp10f(x); }
inline double exp10(double x) { return __builtin_exp10(x); }
inline float fdividef(float x, float y) { return x / y; }
inline float saturatef(float x) { return __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f); }
inline float sinpif(float x) { return __builtin_sinf(x * 3.14159265358979323846f); }
inline float cospif(float x) { return __builtin_cosf(x * 3.14159265358979323846f); }
inline double sinpi(double x) { return __builtin_sin(x * 3.14159265358979323846); }
inline double cospi(double x) { return __builtin_cos(x * 3.14159265358979323846); }
inline float normcdff(float x) { return 0.5f * __builtin_erfcf(-x * 0.70710678118654752440f); }
inline double normcdf(double x) { return 0.5 * __builtin_erfc(-x * 0.70710678118654752440); }
inline float erfcxf(float x) { return static_cast<float>(__builtin_exp(double(x) * x) * __builtin_erfc(x)); }
inline double erfcx(double x) { return __builtin_exp(x * x) * __builtin_erfc(x); }
extern "C" [[noreturn]] void bicrl_device_only();
[[noreturn]] inline float erfinvf(float) { bicrl_device_only(); }
[[noreturn]] inline double erfinv(double) { bicrl_device_only(); }
inline float erfcinvf(float x) { return erfinvf(1.0f - x); }
inline float normcdfinvf(float x) { return 1.41421356237309504880f * erfinvf(2.0f * x - 1.0f); }
inline double normcdfinv(double x) { return 1.41421356237309504880 * erfinv(2.0 * x - 1.0); }
[[noreturn]] inline double cyl_bessel_i0(double) { bicrl_device_only(); }
[[noreturn]] inline double cyl_bessel_i1(double) { bicrl_device_only(); }
inline float cyl_bessel_i0f(float x) { return static_cast<float>(cyl_bessel_i0(x)); }
inline float cyl_bessel_i1f(float x) { return static_cast<float>(cyl_bessel_i1(x)); }
extern "C" void sincosf(float, float*, float*) noexcept;
extern "C" void sincos(double, double*, double*) noexcept;
inline float norm3df(float a, float b, float c) { return __builtin_sqrtf(a * a + b * b + c * c); }
inline float rhypotf(float a, float b) { return 1.0f / __builtin_hypotf(a, b); }
inline float __expf(float x) { return __builtin_expf(x); }
inline float __exp10f(float x) { return __builtin_exp10f(x); }
inline float __logf(float x) { return __builtin_logf(x); }
inline float __log2f(float x) { return __builtin_log2f(x); }
inline float __log10f(float x) { return __builtin_log10f(x); }
inline float __powf(float x, float y) { return __builtin_powf(x, y); }
inline float __sinf(float x) { return __builtin_sinf(x); }
inline float __cosf(float x) { return __builtin_cosf(x); }
inline float __tanf(float x) { return __builtin_tanf(x); }
inline void __sincosf(float x, float* s, float* c) { sincosf(x, s, c); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline float __saturatef(float x) { return saturatef(x); }

#define BICRL_MIN_MAX(R, A, B)                                                            \
  constexpr R min(A a, B b) {                                                             \
    return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b); \
  }                                                                                       \
  constexpr R max(A a, B b) {                                                             \
    return static_cast<R>(a) > static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b); \
  }
BICRL_MIN_MAX(int, int, int)
BICRL_MIN_MAX(unsigned, unsigned, unsigned)
BICRL_MIN_MAX(unsigned, int, unsigned)
BICRL_MIN_MAX(unsigned, unsigned, int)
BICRL_MIN_MAX(long, long, long)
BICRL_MIN_MAX(unsigned long, unsigned long, unsigned long)
BICRL_MIN_MAX(unsigned long, long, unsigned long)
BICRL_MIN_MAX(unsigned long, unsigned long, long)
BICRL_MIN_MAX(long long, long long, long long)
BICRL_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
BICRL_MIN_MAX(unsigned long long, long long, unsigned long long)
BICRL_MIN_MAX(unsigned long long, unsigned long long, long long)
#undef BICRL_MIN_MAX
inline float min(float a, float b) { return __builtin_fminf(a, b); }
inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
inline double min(double a, double b) { return __builtin_fmin(a, b); }
inline double max(double a, double b) { return __builtin_fmax(a, b); }
inline double min(float a, double b) { return __builtin_fmin(a, b); }
inline double min(double a, float b) { return __builtin_fmin(a, b); }
inline double max(float a, double b) { return __builtin_fmax(a, b); }
inline double max(double a, float b) { return __builtin_fmax(a, b); }
inline unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }
inline long long llmin(long long a, long long b) { return a < b ? a : b; }
inline long long llmax(long long a, long long b) { return a > b ? a : b; }

// ---- Integer and bit intrinsics.
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
[[noreturn]] inline unsigned __brev(unsigned) { bicrl_device_only(); }
[[noreturn]] inline unsigned long long __brevll(unsigned long long) { bicrl_device_only(); }
[[noreturn]] inline unsigned __byte_perm(unsigned, unsigned, unsigned) { bicrl_device_only(); }
inline int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline int __mulhi(int a, int b) { return static_cast<int>((static_cast<long long>(a) * b) >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>((static_cast<__int128>(a) * b) >> 64);
}
inline int __sad(int a, int b, unsigned c) { return (a > b ? a - b : b - a) + c; }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a > b ? a - b : b - a) + c; }
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
  return static_cast<unsigned>((((static_cast<unsigned long long>(hi) << 32) | lo) << (n & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
  return static_cast<unsigned>(((static_cast<unsigned long long>(hi) << 32) | lo) >> (n & 31));
}
[[noreturn]] inline int __dp4a(int, int, int) { bicrl_device_only(); }
[[noreturn]] inline unsigned __dp4a(unsigned, unsigned, unsigned) { bicrl_device_only(); }

// ---- Conversions by bits and with a rounding mode.
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
inline int __float2int_rn(float x) { return static_cast<int>(__builtin_rintf(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }
inline int __float2int_rd(float x) { return static_cast<int>(__builtin_floorf(x)); }
inline int __float2int_ru(float x) { return static_cast<int>(__builtin_ceilf(x)); }
inline unsigned __float2uint_rn(float x) { return static_cast<unsigned>(__builtin_rintf(x)); }
inline unsigned __float2uint_rz(float x) { return static_cast<unsigned>(x); }
inline long long __float2ll_rn(float x) { return static_cast<long long>(__builtin_rintf(x)); }
inline long long __float2ll_rz(float x) { return static_cast<long long>(x); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline double __int2double_rn(int x) { return static_cast<double>(x); }
inline int __double2int_rn(double x) { return static_cast<int>(__builtin_rint(x)); }
inline int __double2int_rz(double x) { return static_cast<int>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }

#define CUDART_INF_F __int_as_float(0x7f800000)
#define CUDART_NAN_F __int_as_float(0x7fffffff)
#define CUDART_INF __longlong_as_double(0x7ff0000000000000LL)
#define CUDART_NAN __longlong_as_double(0xfff8000000000000ULL)
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.1415926535897931e+0
#define CUDART_PIO2_F 1.570796327f
#define CUDART_SQRT_HALF_F 0.707106781f
#define CUDART_SQRT_TWO_F 1.414213562f
#define CUDART_LN2_F 0.693147181f
#define CUDART_L2E_F 1.442695041f
#define CUDART_MAX_NORMAL_F 3.402823466e38f
#define CUDART_MIN_DENORM_F 1.401298464e-45f
#define CUDART_ZERO_F 0.0f
#define CUDART_ONE_F 1.0f
