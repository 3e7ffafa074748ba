// The 8-bit floats as storage.
#pragma once
#include "bicrl/half.h"

#define BICRL_BYTE_FLOAT(name, bytes)           \
  struct __attribute__((aligned(bytes))) name { \
    unsigned char x[bytes];                     \
  };
BICRL_BYTE_FLOAT(__nv_fp8_e4m3, 1)
BICRL_BYTE_FLOAT(__nv_fp8_e5m2, 1)
BICRL_BYTE_FLOAT(__nv_fp8x2_e4m3, 2)
BICRL_BYTE_FLOAT(__nv_fp8x2_e5m2, 2)
BICRL_BYTE_FLOAT(__nv_fp8x4_e4m3, 4)
BICRL_BYTE_FLOAT(__nv_fp8x4_e5m2, 4)
#undef BICRL_BYTE_FLOAT
typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
