// The states of cuRAND's device generators: host code allocates arrays of them. Names and sizes are those of
// curand_kernel.h.
#pragma once
#include "bicrl/device.h"

#define BICRL_STATE(name, bytes, alignment)         \
  struct __attribute__((aligned(alignment))) name { \
    unsigned char content[bytes];                   \
  };
BICRL_STATE(curandStateXORWOW, 48, 8)
BICRL_STATE(curandStatePhilox4_32_10, 64, 16)
BICRL_STATE(curandStateMRG32k3a, 48, 8)
BICRL_STATE(curandStateSobol32, 152, 4)
BICRL_STATE(curandStateMtgp32, 4120, 8)
#undef BICRL_STATE
typedef curandStateXORWOW curandStateXORWOW_t, curandState_t, curandState;
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
typedef curandStateMRG32k3a curandStateMRG32k3a_t;
typedef curandStateSobol32 curandStateSobol32_t;
typedef curandStateMtgp32 curandStateMtgp32_t;
#define BICRL_RANDOM(T, name)  \
  template <class... A>        \
  inline T name(const A&...) { \
    bicrl_device_only();       \
  }
BICRL_RANDOM(void, curand_init)
BICRL_RANDOM(unsigned, curand)
BICRL_RANDOM(uint4, curand4)
BICRL_RANDOM(float, curand_uniform)
BICRL_RANDOM(float2, curand_uniform2)
BICRL_RANDOM(float4, curand_uniform4)
BICRL_RANDOM(double, curand_uniform_double)
BICRL_RANDOM(double2, curand_uniform2_double)
BICRL_RANDOM(float, curand_normal)
BICRL_RANDOM(float2, curand_normal2)
BICRL_RANDOM(float4, curand_normal4)
BICRL_RANDOM(double, curand_normal_double)
BICRL_RANDOM(float, curand_log_normal)
BICRL_RANDOM(unsigned, curand_poisson)
BICRL_RANDOM(void, skipahead)
#undef BICRL_RANDOM
