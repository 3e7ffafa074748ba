// Device built-ins as far as device code is left in host code: functions for both sides, lambdas, bodies that
// come out of macros. It compiles; an operation that only a device can do raises a fault when it runs here.
#pragma once
#include "bicrl/math.h"
#include "bicrl/vectors.h"

#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_EXTENDED_LAMBDA__ 1
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000
#define __CUDA_RUNTIME_H__
// As load_inline's command line for nvcc has them.
#define __CUDA_NO_HALF_OPERATORS__ 1
#define __CUDA_NO_HALF_CONVERSIONS__ 1
#define __CUDA_NO_BFLOAT16_CONVERSIONS__ 1
#define __CUDA_NO_HALF2_OPERATORS__ 1
#define __host__
#define __device__
#define __global__
#define __constant__
#define __shared__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __builtin_assume(condition)
#define __nv_pure__
#define C10_WARP_SIZE 32
#define CUDA_1D_KERNEL_LOOP(i, n)                                                        \
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < (n); \
       i += static_cast<int64_t>(blockDim.x) * gridDim.x)
#define CUDA_KERNEL_LOOP CUDA_1D_KERNEL_LOOP
#define CUDA_KERNEL_ASSERT(...) assert(__VA_ARGS__)

#pragma GCC visibility push(default)
extern const uint3 threadIdx;
extern const uint3 blockIdx;
extern const dim3 blockDim;
extern const dim3 gridDim;
constexpr int warpSize = 32;
namespace bicrl {
[[noreturn]] void failed_assertion(const char* condition, const char* file, int line);
}
extern "C" {
[[noreturn]] void bicrl_device_only();
int printf(const char*, ...);
}
#pragma GCC visibility pop

// Names with a result of one type, names that give what they take, names that work at an address.
#define BICRL_GIVES(R, name)   \
  template <class... A>        \
  inline R name(const A&...) { \
    bicrl_device_only();       \
  }
#define BICRL_PASSES(name)                         \
  template <class T, class... A>                   \
  inline T name(unsigned, const T&, const A&...) { \
    bicrl_device_only();                           \
  }
#define BICRL_ADDRESSES(name)                     \
  template <class T, class... A>                  \
  inline T name(const volatile T*, const A&...) { \
    bicrl_device_only();                          \
  }
BICRL_GIVES(void, __syncthreads)
BICRL_GIVES(int, __syncthreads_count)
BICRL_GIVES(int, __syncthreads_and)
BICRL_GIVES(int, __syncthreads_or)
BICRL_GIVES(void, __syncwarp)
BICRL_GIVES(unsigned, __activemask)
BICRL_GIVES(int, __any_sync)
BICRL_GIVES(int, __all_sync)
BICRL_GIVES(int, __uni_sync)
BICRL_GIVES(unsigned, __ballot_sync)
BICRL_GIVES(unsigned, __match_any_sync)
BICRL_GIVES(unsigned, __match_all_sync)
BICRL_GIVES(void, __threadfence)
BICRL_GIVES(void, __threadfence_block)
BICRL_GIVES(void, __threadfence_system)
BICRL_GIVES(void, __nanosleep)
BICRL_GIVES(void, __prof_trigger)
BICRL_GIVES(void, __trap)
BICRL_GIVES(void, __brkpt)
BICRL_GIVES(long long, clock64)
BICRL_GIVES(unsigned, __isGlobal)
BICRL_GIVES(unsigned, __isShared)
BICRL_GIVES(size_t, __cvta_generic_to_shared)
BICRL_GIVES(size_t, __cvta_generic_to_global)
BICRL_GIVES(void, __pipeline_memcpy_async)
BICRL_GIVES(void, __pipeline_commit)
BICRL_GIVES(void, __pipeline_wait_prior)
BICRL_PASSES(__shfl_sync)
BICRL_PASSES(__shfl_up_sync)
BICRL_PASSES(__shfl_down_sync)
BICRL_PASSES(__shfl_xor_sync)
BICRL_PASSES(__reduce_add_sync)
BICRL_PASSES(__reduce_min_sync)
BICRL_PASSES(__reduce_max_sync)
BICRL_PASSES(__reduce_and_sync)
BICRL_PASSES(__reduce_or_sync)
BICRL_PASSES(__reduce_xor_sync)
BICRL_ADDRESSES(atomicAdd)
BICRL_ADDRESSES(atomicSub)
BICRL_ADDRESSES(atomicMin)
BICRL_ADDRESSES(atomicMax)
BICRL_ADDRESSES(atomicAnd)
BICRL_ADDRESSES(atomicOr)
BICRL_ADDRESSES(atomicXor)
BICRL_ADDRESSES(atomicExch)
BICRL_ADDRESSES(atomicInc)
BICRL_ADDRESSES(atomicDec)
BICRL_ADDRESSES(atomicCAS)
BICRL_ADDRESSES(atomicAdd_block)
BICRL_ADDRESSES(atomicMax_block)
BICRL_ADDRESSES(atomicMin_block)
BICRL_ADDRESSES(atomicCAS_block)
BICRL_ADDRESSES(atomicExch_block)
BICRL_ADDRESSES(atomicAdd_system)
BICRL_ADDRESSES(gpuAtomicAdd)
BICRL_ADDRESSES(gpuAtomicMul)
BICRL_ADDRESSES(gpuAtomicMax)
BICRL_ADDRESSES(gpuAtomicMin)
#undef BICRL_GIVES
#undef BICRL_PASSES
#undef BICRL_ADDRESSES
// Loads and stores with a hint mean the same for both sides.
#define BICRL_LOAD(name)      \
  template <class T>          \
  inline T name(const T* p) { \
    return *p;                \
  }
BICRL_LOAD(__ldg)
BICRL_LOAD(__ldca)
BICRL_LOAD(__ldcg)
BICRL_LOAD(__ldcs)
BICRL_LOAD(__ldlu)
BICRL_LOAD(__ldcv)
#undef BICRL_LOAD
#define BICRL_STORE(name)                                       \
  template <class T>                                            \
  inline void name(T* p, typename bicrl::Identity<T>::type v) { \
    *p = v;                                                     \
  }
BICRL_STORE(__stwb)
BICRL_STORE(__stcg)
BICRL_STORE(__stcs)
BICRL_STORE(__stwt)
#undef BICRL_STORE
