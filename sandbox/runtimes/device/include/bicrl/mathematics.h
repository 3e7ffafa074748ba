// <cmath>, <cstdlib>, <cstring>: names that NVRTC has outside std.
#pragma once
#include "bicrl/core.h"

#define INFINITY __builtin_bit_cast(float, 0x7f800000u)
#define NAN __builtin_bit_cast(float, 0x7fc00000u)
#define HUGE_VAL __builtin_bit_cast(double, 0x7ff0000000000000ull)
#define HUGE_VALF __builtin_bit_cast(float, 0x7f800000u)
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

extern "C" {
int atoi(const char* text);
double atof(const char* text);
char* getenv(const char* name);
[[noreturn]] void exit(int status);
[[noreturn]] void abort();
}
int rand();
void srand(unsigned seed);
size_t strlen(const char* text);
int strcmp(const char* a, const char* b);
int memcmp(const void* a, const void* b, size_t bytes);
void* memmove(void* target, const void* source, size_t bytes);
void* calloc(size_t count, size_t bytes);

namespace std {
// clang-format off
#define BICRL_NAMES(M) \
  M(abs) M(acos) M(acosh) M(asin) M(asinh) M(atan) M(atan2) M(atanh) M(cbrt) M(ceil) M(copysign) \
  M(cos) M(cosh) M(erf) M(erfc) M(exp) M(exp2) M(expm1) M(fabs) M(fdim) M(floor) M(fma) M(fmax) \
  M(fmin) M(fmod) M(frexp) M(hypot) M(ilogb) M(ldexp) M(lgamma) M(llrint) M(llround) M(log) M(log10) \
  M(log1p) M(log2) M(logb) M(lrint) M(lround) M(modf) M(nearbyint) M(nextafter) M(pow) M(remainder) \
  M(rint) M(round) M(scalbn) M(sin) M(sinh) M(sqrt) M(tan) M(tanh) M(tgamma) M(trunc) M(isnan) \
  M(isinf) M(isfinite) M(signbit) M(memcpy) M(memset) M(malloc) M(free) M(printf) M(sqrtf) M(expf) \
  M(logf) M(powf) M(tanhf) M(fabsf) M(fmaxf) M(fminf) M(floorf) M(ceilf) M(roundf) M(erff) M(sinf) \
  M(cosf) M(fmaf) M(log2f) M(log1pf) M(expm1f) M(fmodf) M(llabs) M(labs) M(rand) M(srand) M(atoi) \
  M(atof) M(getenv) M(exit) M(abort) M(strlen) M(strcmp) M(memcmp) M(memmove) M(calloc) M(clock)
// clang-format on
#define BICRL_USE(name) using ::name;
BICRL_NAMES(BICRL_USE)
#undef BICRL_USE
#undef BICRL_NAMES
}  // namespace std
