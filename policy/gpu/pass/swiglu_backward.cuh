// The gradient of SwiGLU on the device.
#pragma once
#include "policy/gpu/pass/pass_elements.cuh"

namespace bicrl::gpu {

// With a = silu(gate), rounded as in the forward, and h the logistic function of gate: the gradients of
// out = a up are g a for up and g up (h + a (1 - h)) for gate. A thread for each sixteen bytes of out.
__global__ void __launch_bounds__(kPassThreads)
    swiglu_backward_pack(const __nv_bfloat16* grad, __nv_bfloat16* gate_up, __nv_bfloat16* out, int64_t packs,
                         int packs_of_row) {
  const int64_t i = int64_t{blockIdx.x} * kPassThreads + threadIdx.x;
  if (i >= packs) return;
  const int64_t row = i / packs_of_row, at = i % packs_of_row;
  __nv_bfloat16* const gates = gate_up + (row * 2 * packs_of_row + at) * BfPack::kSize;
  __nv_bfloat16* const ups = gates + int64_t{packs_of_row} * BfPack::kSize;
  BfPack gate = load_pack(gates), up = load_pack(ups), g = load_pack(grad + i * BfPack::kSize);
#pragma unroll
  for (int j = 0; j < BfPack::kSize; ++j) {
    const float x = widen(gate.values[j]), u = widen(up.values[j]), of_out = widen(g.values[j]);
    const float h = __fdividef(1.0f, 1.0f + __expf(-x));
    const float a = rounded<__nv_bfloat16>(__fdividef(x, 1.0f + __expf(-x)));
    narrow(of_out * u * (h + a * (1.0f - h)), gate.values[j]);
    narrow(of_out * a, up.values[j]);
    narrow(a * u, g.values[j]);
  }
  store_pack(gates, gate);
  store_pack(ups, up);
  if (out) store_pack(out + i * BfPack::kSize, g);
}

}  // namespace bicrl::gpu
