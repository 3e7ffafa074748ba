// <ATen/cuda/Atomic.cuh>: atomic operations on the types of tensors, those of 8 and 16 bits on the word that
// they are a part of. Like torch's, the largest and the smallest of anything and a NaN are NaN.
#pragma once
#include "bicrl/half_types.h"

namespace bicrl {

template <size_t bytes>
struct Word {
  using type = unsigned;
};
template <>
struct Word<8> {
  using type = unsigned long long;
};

template <size_t bytes>
struct Bits {
  using type = typename Word<bytes>::type;
};
template <>
struct Bits<1> {
  using type = unsigned char;
};
template <>
struct Bits<2> {
  using type = unsigned short;
};

// *address = change(*address, value); what was there before. By shifts, never through bytes in memory: ptxas
// 13.0 stores the low byte of a register that holds an fp16 as its value converted to a whole number.
template <class T, class F>
T change_atomically(T* address, T value, F change) {
  using W = typename Word<sizeof(T)>::type;
  using B = typename Bits<sizeof(T)>::type;
  const size_t at = reinterpret_cast<size_t>(address), part = at % sizeof(W);
  W* word = reinterpret_cast<W*>(at - part);
  const int shift = static_cast<int>(8 * part);
  const W mask = static_cast<W>(static_cast<B>(~B{0})) << shift;
  W seen = *const_cast<volatile W*>(word);
  for (;;) {
    const B bits = static_cast<B>(seen >> shift);
    T old;
    memcpy(&old, &bits, sizeof(T));
    const T made = static_cast<T>(change(old, value));
    B changed;
    memcpy(&changed, &made, sizeof(T));
    const W met = atomicCAS(word, seen, (seen & ~mask) | (static_cast<W>(changed) << shift));
    if (met == seen) return old;
    seen = met;
  }
}

}  // namespace bicrl

#define BICRL_ATOMIC(NAME, T, ...)                                                           \
  inline T gpuAtomic##NAME(T* address, T value) {                                            \
    return ::bicrl::change_atomically(address, value, [](T a, T b) { return __VA_ARGS__; }); \
  }
#define BICRL_ATOMICS(T)                                        \
  BICRL_ATOMIC(Mul, T, a* b)                                    \
  BICRL_ATOMIC(Max, T, a != a ? a : b != b ? b : a < b ? b : a) \
  BICRL_ATOMIC(Min, T, a != a ? a : b != b ? b : b < a ? b : a) \
  inline void gpuAtomicAddNoReturn(T* address, T value) { gpuAtomicAdd(address, value); }
#define BICRL_ADDED(T) BICRL_ATOMIC(Add, T, a + b)
BICRL_ADDED(unsigned char)
BICRL_ADDED(signed char)
BICRL_ADDED(short)
BICRL_ADDED(c10::Half)
BICRL_ADDED(c10::BFloat16)
BICRL_ATOMIC(Add, bool, a || b)
inline int gpuAtomicAdd(int* address, int value) { return atomicAdd(address, value); }
inline long gpuAtomicAdd(long* address, long value) {
  return static_cast<long>(
      atomicAdd(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value)));
}
inline float gpuAtomicAdd(float* address, float value) { return atomicAdd(address, value); }
inline double gpuAtomicAdd(double* address, double value) { return atomicAdd(address, value); }
BICRL_ATOMICS(unsigned char)
BICRL_ATOMICS(signed char)
BICRL_ATOMICS(short)
BICRL_ATOMICS(int)
BICRL_ATOMICS(long)
BICRL_ATOMICS(float)
BICRL_ATOMICS(double)
BICRL_ATOMICS(c10::Half)
BICRL_ATOMICS(c10::BFloat16)
inline void gpuAtomicAddNoReturn(bool* address, bool value) { gpuAtomicAdd(address, value); }
#undef BICRL_ADDED
#undef BICRL_ATOMICS
#undef BICRL_ATOMIC

inline c10::Half atomicAdd(c10::Half* address, c10::Half value) { return gpuAtomicAdd(address, value); }
inline c10::BFloat16 atomicAdd(c10::BFloat16* address, c10::BFloat16 value) {
  return gpuAtomicAdd(address, value);
}
inline void atomicAdd(unsigned char* address, unsigned char value) { gpuAtomicAdd(address, value); }
inline void atomicAdd(signed char* address, signed char value) { gpuAtomicAdd(address, value); }
inline void atomicAdd(short* address, short value) { gpuAtomicAdd(address, value); }
inline void atomicAdd(long* address, long value) { gpuAtomicAdd(address, value); }
inline void atomicAdd(bool* address, bool value) { gpuAtomicAdd(address, value); }

namespace at {
namespace native {
// <ATen/native/cuda/KernelUtils.cuh>
template <class T, class I>
void fastAtomicAdd(T* tensor, I index, const I, T value, bool) {
  gpuAtomicAddNoReturn(tensor + index, value);
}
}  // namespace native
}  // namespace at
