// Constants and functions that the kernels of a training pass share.
#pragma once
#include "policy/gpu/elements.cuh"
#include "policy/gpu/pass/pass_kernels.h"

namespace bicrl::gpu {

constexpr int kPassThreads = 256;
using BfPack = Pack<__nv_bfloat16>;

// Keeps the least stage and row with a value that is not finite.
__device__ inline void note_fault(const FaultRecord& fault, int64_t row, float value) {
  if (!fault.record || isfinite(value)) return;
  atomicMin(fault.record, static_cast<unsigned long long>(fault.stage) << FaultRecord::kRowBits |
                              static_cast<unsigned long long>(row));
}

inline unsigned pass_blocks(int64_t threads) {
  return static_cast<unsigned>((threads + kPassThreads - 1) / kPassThreads);
}
inline const __nv_bfloat16* on_device(const BFloat16* values) {
  return reinterpret_cast<const __nv_bfloat16*>(values);
}
inline __nv_bfloat16* on_device(BFloat16* values) { return reinterpret_cast<__nv_bfloat16*>(values); }

}  // namespace bicrl::gpu
