// The 8-bit floats of CUDA: one is converted as CUDA's header does it, beyond the largest number to that one;
// several are storage.
#pragma once
#include "bicrl/half.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;

#define BICRL_BYTE_FLOAT(T, from, to, largest)                                            \
  struct T {                                                                              \
    __nv_fp8_storage_t __x;                                                               \
    T() = default;                                                                        \
    explicit T(float v) : __x(to(v > largest ? largest : v < -largest ? -largest : v)) {} \
    explicit T(double v) : T(static_cast<float>(v)) {}                                    \
    explicit T(int v) : T(static_cast<float>(v)) {}                                       \
    explicit T(__half v) : T(float(v)) {}                                                 \
    explicit T(__nv_bfloat16 v) : T(float(v)) {}                                          \
    explicit operator float() const { return from(__x); }                                 \
    explicit operator double() const { return from(__x); }                                \
    explicit operator __half() const { return __half(from(__x)); }                        \
    explicit operator __nv_bfloat16() const { return __nv_bfloat16(from(__x)); }          \
  };
BICRL_BYTE_FLOAT(__nv_fp8_e4m3, bicrl_e4m3_to_float, bicrl_float_to_e4m3, 448.0f)
BICRL_BYTE_FLOAT(__nv_fp8_e5m2, bicrl_e5m2_to_float, bicrl_float_to_e5m2, 57344.0f)
#undef BICRL_BYTE_FLOAT

#define BICRL_BYTE_FLOATS(T, storage) \
  struct T {                          \
    storage __x;                      \
  };
BICRL_BYTE_FLOATS(__nv_fp8x2_e4m3, __nv_fp8x2_storage_t)
BICRL_BYTE_FLOATS(__nv_fp8x2_e5m2, __nv_fp8x2_storage_t)
BICRL_BYTE_FLOATS(__nv_fp8x4_e4m3, __nv_fp8x4_storage_t)
BICRL_BYTE_FLOATS(__nv_fp8x4_e5m2, __nv_fp8x4_storage_t)
#undef BICRL_BYTE_FLOATS
