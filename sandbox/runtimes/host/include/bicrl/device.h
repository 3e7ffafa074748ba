// What device code sees: built-in variables, barriers, warp primitives, atomics. Threads of a block run one
// after another on fibers of one thread, so an atomic is a plain read and write, and a barrier switches
// fibers.
#pragma once
#include "bicrl/math.h"
#include "bicrl/vectors.h"

#define __CUDACC__ 1
#define __CUDA_ARCH__ 900
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000
#define __host__
#define __device__
#define __global__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __builtin_assume(condition)
#define BICRL_TEXT_(x) #x
#define BICRL_TEXT(x) BICRL_TEXT_(x)
// A section of its own for each declaration: the loader finds all static shared memory by the sections' names
// (one name for all is refused by the compiler if inline functions and others share it).
#define __shared__ static __attribute__((section("bicrl_shared_" BICRL_TEXT(__COUNTER__))))

#pragma GCC visibility push(default)
// Constant for the thread that reads them: a fiber keeps its own values over every switch.
extern const uint3 threadIdx;
extern const uint3 blockIdx;
extern const dim3 blockDim;
extern const dim3 gridDim;
constexpr int warpSize = 32;

extern "C" {
void bicrl_syncthreads(int line);
int bicrl_syncthreads_vote(int kind, int predicate, int line);  // kind: 0 count, 1 and, 2 or
unsigned long long bicrl_warp(int kind, unsigned mask, unsigned long long value, int argument, int width,
                              int line);
unsigned bicrl_activemask(int line);
void* bicrl_dynamic_shared();
unsigned bicrl_dynamic_shared_size();
[[noreturn]] void bicrl_trap(const char* text, const char* file, int line);
long long bicrl_clock();
int printf(const char*, ...);
}
#pragma GCC visibility pop

namespace bicrl {
enum WarpKind {
  kSync,
  kShuffle,
  kShuffleUp,
  kShuffleDown,
  kShuffleXor,
  kAny,
  kAll,
  kUniform,
  kBallot,
  kMatchAny,
  kMatchAll,
  kAddSigned,
  kMinSigned,
  kMaxSigned,
  kAddUnsigned,
  kMinUnsigned,
  kMaxUnsigned,
  kAnd,
  kOr,
  kXor
};
template <class T>
inline unsigned long long to_bits(T value) {
  static_assert(sizeof(T) <= 8, "warp primitives take values of up to 8 bytes");
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
inline T from_bits(unsigned long long bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
inline T shuffle(int kind, unsigned mask, T value, int argument, int width, int line) {
  return from_bits<T>(bicrl_warp(kind, mask, to_bits(value), argument, width, line));
}
// The source line tells barriers apart; it is a default argument evaluated at the candidate's call.
}  // namespace bicrl

#define BICRL_LINE int line = __builtin_LINE()
inline void __syncthreads(BICRL_LINE) { bicrl_syncthreads(line); }
inline int __syncthreads_count(int p, BICRL_LINE) { return bicrl_syncthreads_vote(0, p, line); }
inline int __syncthreads_and(int p, BICRL_LINE) { return bicrl_syncthreads_vote(1, p, line); }
inline int __syncthreads_or(int p, BICRL_LINE) { return bicrl_syncthreads_vote(2, p, line); }
inline void __syncwarp(unsigned mask = 0xffffffffu, BICRL_LINE) {
  bicrl_warp(bicrl::kSync, mask, 0, 0, 32, line);
}
inline unsigned __activemask(BICRL_LINE) { return bicrl_activemask(line); }
template <class T>
inline T __shfl_sync(unsigned mask, T v, int source, int width = 32, BICRL_LINE) {
  return bicrl::shuffle(bicrl::kShuffle, mask, v, source, width, line);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32, BICRL_LINE) {
  return bicrl::shuffle(bicrl::kShuffleUp, mask, v, static_cast<int>(delta), width, line);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32, BICRL_LINE) {
  return bicrl::shuffle(bicrl::kShuffleDown, mask, v, static_cast<int>(delta), width, line);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T v, int lanes, int width = 32, BICRL_LINE) {
  return bicrl::shuffle(bicrl::kShuffleXor, mask, v, lanes, width, line);
}
inline int __any_sync(unsigned mask, int p, BICRL_LINE) {
  return static_cast<int>(bicrl_warp(bicrl::kAny, mask, p != 0, 0, 32, line));
}
inline int __all_sync(unsigned mask, int p, BICRL_LINE) {
  return static_cast<int>(bicrl_warp(bicrl::kAll, mask, p != 0, 0, 32, line));
}
inline int __uni_sync(unsigned mask, int p, BICRL_LINE) {
  return static_cast<int>(bicrl_warp(bicrl::kUniform, mask, p != 0, 0, 32, line));
}
inline unsigned __ballot_sync(unsigned mask, int p, BICRL_LINE) {
  return static_cast<unsigned>(bicrl_warp(bicrl::kBallot, mask, p != 0, 0, 32, line));
}
template <class T>
inline unsigned __match_any_sync(unsigned mask, T v, BICRL_LINE) {
  return static_cast<unsigned>(bicrl_warp(bicrl::kMatchAny, mask, bicrl::to_bits(v), 0, 32, line));
}
template <class T>
inline unsigned __match_all_sync(unsigned mask, T v, int* same, BICRL_LINE) {
  const unsigned lanes =
      static_cast<unsigned>(bicrl_warp(bicrl::kMatchAll, mask, bicrl::to_bits(v), 0, 32, line));
  *same = lanes != 0;
  return lanes;
}
#define BICRL_REDUCE(name, kind, T)                                                               \
  inline T name(unsigned mask, T v, BICRL_LINE) {                                                 \
    return static_cast<T>(bicrl_warp(bicrl::kind, mask, static_cast<long long>(v), 0, 32, line)); \
  }
BICRL_REDUCE(__reduce_add_sync, kAddSigned, int)
BICRL_REDUCE(__reduce_min_sync, kMinSigned, int)
BICRL_REDUCE(__reduce_max_sync, kMaxSigned, int)
BICRL_REDUCE(__reduce_add_sync, kAddUnsigned, unsigned)
BICRL_REDUCE(__reduce_min_sync, kMinUnsigned, unsigned)
BICRL_REDUCE(__reduce_max_sync, kMaxUnsigned, unsigned)
BICRL_REDUCE(__reduce_and_sync, kAnd, unsigned)
BICRL_REDUCE(__reduce_or_sync, kOr, unsigned)
BICRL_REDUCE(__reduce_xor_sync, kXor, unsigned)
#undef BICRL_REDUCE

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {}
inline void __prof_trigger(int) {}
[[noreturn]] inline void __trap() { bicrl_trap("__trap()", "", 0); }
inline void __brkpt() {}
inline long long clock64() { return bicrl_clock(); }
inline unsigned __isGlobal(const void*) { return 1; }
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

#define BICRL_ATOMIC(name, T, update) \
  inline T name(T* address, T v) {    \
    const T old = *address;           \
    *address = update;                \
    return old;                       \
  }
#define BICRL_ATOMIC_INTEGERS(name, update) \
  BICRL_ATOMIC(name, int, update)           \
  BICRL_ATOMIC(name, unsigned, update)      \
  BICRL_ATOMIC(name, unsigned long, update) \
  BICRL_ATOMIC(name, unsigned long long, update)
BICRL_ATOMIC_INTEGERS(atomicAdd, old + v)
BICRL_ATOMIC(atomicAdd, float, old + v)
BICRL_ATOMIC(atomicAdd, double, old + v)
BICRL_ATOMIC(atomicSub, int, old - v)
BICRL_ATOMIC(atomicSub, unsigned, old - v)
BICRL_ATOMIC_INTEGERS(atomicMin, old < v ? old : v)
BICRL_ATOMIC_INTEGERS(atomicMax, old > v ? old : v)
BICRL_ATOMIC(atomicMin, long long, old < v ? old : v)
BICRL_ATOMIC(atomicMax, long long, old > v ? old : v)
BICRL_ATOMIC_INTEGERS(atomicAnd, old& v)
BICRL_ATOMIC_INTEGERS(atomicOr, old | v)
BICRL_ATOMIC_INTEGERS(atomicXor, old ^ v)
BICRL_ATOMIC_INTEGERS(atomicExch, v)
BICRL_ATOMIC(atomicExch, float, v)
BICRL_ATOMIC(atomicInc, unsigned, old >= v ? 0 : old + 1)
BICRL_ATOMIC(atomicDec, unsigned, old == 0 || old > v ? v : old - 1)
#undef BICRL_ATOMIC_INTEGERS
#undef BICRL_ATOMIC
#define BICRL_CAS(T)                               \
  inline T atomicCAS(T* address, T compare, T v) { \
    const T old = *address;                        \
    if (old == compare) *address = v;              \
    return old;                                    \
  }
BICRL_CAS(int)
BICRL_CAS(unsigned)
BICRL_CAS(unsigned short)
BICRL_CAS(unsigned long)
BICRL_CAS(unsigned long long)
#undef BICRL_CAS
#define atomicAdd_block atomicAdd
#define atomicAdd_system atomicAdd
#define atomicMax_block atomicMax
#define atomicMin_block atomicMin
#define atomicCAS_block atomicCAS
#define atomicExch_block atomicExch
