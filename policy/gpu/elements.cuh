// Device functions on elements of either type: sixteen bytes at a time, computed in fp32.
#pragma once
#include <cuda_bf16.h>

#include "policy/gpu/gpu_kernels.h"

namespace bicrl::gpu {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xFFFFFFFFu;

template <class Element>
struct DeviceType {
  using Type = Element;
};
template <>
struct DeviceType<BFloat16> {
  using Type = __nv_bfloat16;
};

__device__ inline float widen(float x) { return x; }
__device__ inline float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline void narrow(float x, float& to) { to = x; }
__device__ inline void narrow(float x, __nv_bfloat16& to) { to = __float2bfloat16_rn(x); }
// As if it had been kept in memory in between.
template <class E>
__device__ inline float rounded(float x) {
  E kept;
  narrow(x, kept);
  return widen(kept);
}

// Sixteen bytes of a row.
template <class E>
struct alignas(16) Pack {
  static constexpr int kSize = 16 / sizeof(E);
  E values[kSize];
};

template <class E>
__device__ inline Pack<E> load_pack(const E* from) {
  return *reinterpret_cast<const Pack<E>*>(from);
}
template <class E>
__device__ inline void store_pack(E* to, const Pack<E>& pack) {
  *reinterpret_cast<Pack<E>*>(to) = pack;
}

__device__ inline float sum_of_warp(float x) {
  for (int apart = kWarp / 2; apart > 0; apart /= 2) x += __shfl_xor_sync(kAllLanes, x, apart);
  return x;
}
__device__ inline double sum_of_warp(double x) {
  for (int apart = kWarp / 2; apart > 0; apart /= 2) x += __shfl_xor_sync(kAllLanes, x, apart);
  return x;
}
__device__ inline float max_of_warp(float x) {
  for (int apart = kWarp / 2; apart > 0; apart /= 2) x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, apart));
  return x;
}

}  // namespace bicrl::gpu
