// Device side of the kernels that go over rows: norms, rotation, the write into the cache, SwiGLU.
#pragma once
#include "policy/gpu/elements.cuh"

namespace bicrl::gpu {

constexpr int kRowThreads = 256;

// One block for each row.
template <class E>
__global__ void __launch_bounds__(kRowThreads)
    sum_norm_row(const E* base, const E* addend, const int64_t* gather, const int32_t* count, const E* weight,
                 float eps, E* sum, E* out, int width) {
  const int64_t row = blockIdx.x;
  if (count && row >= *count) return;
  const int64_t source = gather ? gather[row] : row;
  const E* const from = base + source * width;
  const E* const added = addend ? addend + source * width : nullptr;
  const auto summed = [&](int i) {
    Pack<E> x = load_pack(from + i);
    if (added) {
      const Pack<E> y = load_pack(added + i);
      for (int j = 0; j < Pack<E>::kSize; ++j) narrow(widen(x.values[j]) + widen(y.values[j]), x.values[j]);
    }
    return x;
  };
  float squares = 0;
  for (int i = threadIdx.x * Pack<E>::kSize; i < width; i += kRowThreads * Pack<E>::kSize) {
    const Pack<E> x = summed(i);
    for (int j = 0; j < Pack<E>::kSize; ++j) squares += widen(x.values[j]) * widen(x.values[j]);
    if (sum) store_pack(sum + row * width + i, x);
  }
  __shared__ float of_warps[kRowThreads / kWarp];
  squares = sum_of_warp(squares);
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = squares;
  __syncthreads();
  float total = 0;
  for (int w = 0; w < kRowThreads / kWarp; ++w) total += of_warps[w];
  const float scale = 1.0f / sqrtf(total / static_cast<float>(width) + eps);
  for (int i = threadIdx.x * Pack<E>::kSize; i < width; i += kRowThreads * Pack<E>::kSize) {
    // The base may be overwritten by now.
    Pack<E> x = sum ? load_pack(sum + row * width + i) : summed(i);
    const Pack<E> w = load_pack(weight + i);
    for (int j = 0; j < Pack<E>::kSize; ++j)
      narrow(widen(x.values[j]) * scale * widen(w.values[j]), x.values[j]);
    store_pack(out + row * width + i, x);
  }
}

// A thread for each angle.
__global__ void __launch_bounds__(kRowThreads)
    rotation_row(const int64_t* positions, const float* inverse_frequency, float* cos, float* sin,
                 int64_t rows, int half) {
  const int64_t i = int64_t{blockIdx.x} * kRowThreads + threadIdx.x;
  if (i >= rows * half) return;
  const int64_t row = i / half;
  const int j = static_cast<int>(i % half);
  const float angle = static_cast<float>(positions[row]) * inverse_frequency[j];
  const float c = cosf(angle), s = sinf(angle);
  const int64_t at = row * 2 * half + j;
  cos[at] = cos[at + half] = c;
  sin[at] = -s;
  sin[at + half] = s;
}

// Moved at once, or sixteen bytes at a time.
template <class E, int kCount>
struct alignas(kCount * sizeof(E) < 16 ? kCount * sizeof(E) : 16) Neighbours {
  E values[kCount];
};

// Arguments of norm_rotate_store_head, with pointers of the device's type.
template <class E>
struct HeadsArguments {
  const E *q, *k, *v;
  int64_t q_stride, k_stride, v_stride;
  const E *q_norm, *k_norm;
  const float *cos, *sin;
  const int64_t* write_rows;
  const int32_t* count;
  E *rotated, *pool;
  float eps;
  int rows, heads, kv_heads;
};

// One warp for each head of a row: queries, keys, then values. A lane has neighbours, which it moves at once;
// the other one of each pair that is rotated is half a warp away.
template <class E, int kHeadDim>
__global__ void __launch_bounds__(kRowThreads) norm_rotate_store_head(const HeadsArguments<E> a) {
  constexpr int kEach = kHeadDim / kWarp;
  using Some = Neighbours<E, kEach>;
  using SomeWide = Neighbours<float, kEach>;
  const int lane = threadIdx.x % kWarp, all = a.heads + 2 * a.kv_heads;
  const int task = (blockIdx.x * kRowThreads + threadIdx.x) / kWarp;
  const int row = task / all;
  int head = task % all;
  if (row >= a.rows || (a.count && row >= *a.count)) return;
  const E *from, *norm = nullptr;
  E* to;
  if (head < a.heads) {
    from = a.q + row * a.q_stride + head * kHeadDim;
    norm = a.q_norm;
    to = a.rotated + (static_cast<int64_t>(row) * a.heads + head) * kHeadDim;
  } else {
    head -= a.heads;
    const bool is_value = head >= a.kv_heads;
    to = a.pool + (a.write_rows[row] * 2 * a.kv_heads + head) * kHeadDim;  // values lie behind the keys
    if (is_value) head -= a.kv_heads;
    from = is_value ? a.v + row * a.v_stride + head * kHeadDim : a.k + row * a.k_stride + head * kHeadDim;
    if (!is_value) norm = a.k_norm;
  }
  Some some = reinterpret_cast<const Some*>(from)[lane];
  if (norm) {
    const Some weight = reinterpret_cast<const Some*>(norm)[lane];
    const auto cos = reinterpret_cast<const SomeWide*>(a.cos + static_cast<int64_t>(row) * kHeadDim)[lane];
    const auto sin = reinterpret_cast<const SomeWide*>(a.sin + static_cast<int64_t>(row) * kHeadDim)[lane];
    float x[kEach], squares = 0;
    for (int i = 0; i < kEach; ++i) {
      x[i] = widen(some.values[i]);
      squares += x[i] * x[i];
    }
    const float scale = 1.0f / sqrtf(sum_of_warp(squares) / static_cast<float>(kHeadDim) + a.eps);
    for (int i = 0; i < kEach; ++i) {
      x[i] = rounded<E>(x[i] * scale * widen(weight.values[i]));
      const float paired = __shfl_xor_sync(kAllLanes, x[i], kWarp / 2);
      narrow(fmaf(paired, sin.values[i], __fmul_rn(x[i], cos.values[i])), some.values[i]);
    }
  }
  reinterpret_cast<Some*>(to)[lane] = some;
}

template <class E>
__global__ void __launch_bounds__(kRowThreads)
    swiglu_pack(const E* gate_up, E* out, int64_t packs, int packs_of_row) {
  const int64_t i = int64_t{blockIdx.x} * kRowThreads + threadIdx.x;
  if (i >= packs) return;
  const int64_t row = i / packs_of_row, at = i % packs_of_row;
  const E* const gates = gate_up + (row * 2 * packs_of_row + at) * Pack<E>::kSize;
  Pack<E> gate = load_pack(gates);
  const Pack<E> up = load_pack(gates + int64_t{packs_of_row} * Pack<E>::kSize);
  for (int j = 0; j < Pack<E>::kSize; ++j) {
    const float x = widen(gate.values[j]);
    // Approximate by 2^-21 for small x and 2^-17 for |x| = 80: bf16 keeps eight bits.
    narrow(rounded<E>(__fdividef(x, 1.0f + __expf(-x))) * widen(up.values[j]), gate.values[j]);
  }
  store_pack(out + i * Pack<E>::kSize, gate);
}

}  // namespace bicrl::gpu
