// dim3 and CUDA's vector types with their make_ functions.
#pragma once
#include "bicrl/base.h"

#define BICRL_VECTORS(T, name, bytes)                                        \
  struct name##1 {                                                           \
    T x;                                                                     \
  };                                                                         \
  struct __attribute__((aligned(2 * bytes))) name##2 {                       \
    T x, y;                                                                  \
  };                                                                         \
  struct name##3 {                                                           \
    T x, y, z;                                                               \
  };                                                                         \
  struct __attribute__((aligned(4 * bytes > 16 ? 16 : 4 * bytes))) name##4 { \
    T x, y, z, w;                                                            \
  };                                                                         \
  constexpr name##1 make_##name##1(T x) { return {x}; }                      \
  constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }              \
  constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }      \
  constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
BICRL_VECTORS(signed char, char, 1)
BICRL_VECTORS(unsigned char, uchar, 1)
BICRL_VECTORS(short, short, 2)
BICRL_VECTORS(unsigned short, ushort, 2)
BICRL_VECTORS(int, int, 4)
BICRL_VECTORS(unsigned, uint, 4)
BICRL_VECTORS(long, long, 8)
BICRL_VECTORS(unsigned long, ulong, 8)
BICRL_VECTORS(long long, longlong, 8)
BICRL_VECTORS(unsigned long long, ulonglong, 8)
BICRL_VECTORS(float, float, 4)
BICRL_VECTORS(double, double, 8)
#undef BICRL_VECTORS

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
