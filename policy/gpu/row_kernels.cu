#include "policy/gpu/row_kernels.cuh"

#include "policy/gpu/launch_check.h"

namespace bicrl::gpu {
namespace {

unsigned blocks_for(int64_t threads) {
  return static_cast<unsigned>((threads + kRowThreads - 1) / kRowThreads);
}

// The same memory, of the type that kernels know.
template <class Element>
auto* device(Element* values) {
  return reinterpret_cast<typename DeviceType<Element>::Type*>(values);
}
template <class Element>
const auto* device(const Element* values) {
  return reinterpret_cast<const typename DeviceType<Element>::Type*>(values);
}

}  // namespace

template <class Element>
void sum_norm_rows(const SumNormRows<Element>& work, Stream stream) {
  if (work.rows == 0) return;
  sum_norm_row<<<static_cast<unsigned>(work.rows), kRowThreads, 0, stream>>>(
      device(work.base), device(work.addend), work.gather, work.count, device(work.weight),
      static_cast<float>(work.eps), device(work.sum), device(work.out), static_cast<int>(work.width));
  check_launch("sum_norm_rows");
}
template void sum_norm_rows(const SumNormRows<float>&, Stream);
template void sum_norm_rows(const SumNormRows<BFloat16>&, Stream);

void rotation_rows(const RotationRows& work, Stream stream) {
  if (work.rows == 0) return;
  const int half = static_cast<int>(work.head_dim / 2);
  rotation_row<<<blocks_for(work.rows * half), kRowThreads, 0, stream>>>(
      work.positions, work.inverse_frequency, work.cos, work.sin, work.rows, half);
  check_launch("rotation_rows");
}

template <class Element>
void norm_rotate_store(const kernels::NormRotateStore<Element>& work, const int32_t* count, Stream stream) {
  using E = typename DeviceType<Element>::Type;
  if (work.rows == 0) return;
  const HeadsArguments<E> arguments = {device(work.q),
                                       device(work.k),
                                       device(work.v),
                                       work.q_stride,
                                       work.k_stride,
                                       work.v_stride,
                                       device(work.q_norm),
                                       device(work.k_norm),
                                       work.cos,
                                       work.sin,
                                       work.write_rows,
                                       count,
                                       device(work.rotated),
                                       device(work.pool),
                                       static_cast<float>(work.eps),
                                       static_cast<int>(work.rows),
                                       static_cast<int>(work.heads),
                                       static_cast<int>(work.kv_heads)};
  const unsigned blocks = blocks_for(work.rows * (work.heads + 2 * work.kv_heads) * kWarp);
  if (work.head_dim == 64)
    norm_rotate_store_head<E, 64><<<blocks, kRowThreads, 0, stream>>>(arguments);
  else if (work.head_dim == 128)
    norm_rotate_store_head<E, 128><<<blocks, kRowThreads, 0, stream>>>(arguments);
  else
    norm_rotate_store_head<E, 256><<<blocks, kRowThreads, 0, stream>>>(arguments);
  check_launch("norm_rotate_store");
}
template void norm_rotate_store(const kernels::NormRotateStore<float>&, const int32_t*, Stream);
template void norm_rotate_store(const kernels::NormRotateStore<BFloat16>&, const int32_t*, Stream);

template <class Element>
void swiglu(const SwiGlu<Element>& work, Stream stream) {
  if (work.rows == 0) return;
  const int packs_of_row = static_cast<int>(work.width / (16 / static_cast<int64_t>(sizeof(Element))));
  const int64_t packs = work.rows * packs_of_row;
  swiglu_pack<<<blocks_for(packs), kRowThreads, 0, stream>>>(device(work.gate_up), device(work.out), packs,
                                                             packs_of_row);
  check_launch("swiglu");
}
template void swiglu(const SwiGlu<float>&, Stream);
template void swiglu(const SwiGlu<BFloat16>&, Stream);

}  // namespace bicrl::gpu
