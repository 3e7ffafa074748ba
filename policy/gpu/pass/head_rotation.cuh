// Norm and rotation of the heads of queries and keys on the device, each way: a warp for each row, which goes
// over the row's heads with the same cosines and sines in its registers. A lane has eight neighbours of a
// head; the other one of each pair that is rotated lies half a head's lanes away.
#pragma once
#include "policy/gpu/pass/pass_elements.cuh"

namespace bicrl::gpu {

template <int kHeadDim>
struct HeadLanes {
  static constexpr int kCount = kHeadDim / BfPack::kSize;  // of a head
  static constexpr int kHeads = kWarp / kCount;            // that a warp has at a time

  __device__ static float sum(float x) {
#pragma unroll
    for (int apart = kCount / 2; apart > 0; apart /= 2) x += __shfl_xor_sync(kAllLanes, x, apart);
    return x;
  }
  __device__ static float paired(float x) { return __shfl_xor_sync(kAllLanes, x, kCount / 2); }
};

struct RotationArguments {
  const __nv_bfloat16* qkv;
  int64_t stride;
  const __nv_bfloat16 *q_norm, *k_norm;
  const float *cos, *sin;
  float eps;
  int rows, heads, all;  // `all`: of queries and keys
};

// A lane's part of a row's cosines or sines.
struct LaneAngles {
  float values[BfPack::kSize];
  __device__ void load(const float* from) {
    const float4 low = reinterpret_cast<const float4*>(from)[0],
                 high = reinterpret_cast<const float4*>(from)[1];
    values[0] = low.x, values[1] = low.y, values[2] = low.z, values[3] = low.w;
    values[4] = high.x, values[5] = high.y, values[6] = high.z, values[7] = high.w;
  }
};

template <int kHeadDim>
__global__ void __launch_bounds__(kPassThreads)
    rotate_heads_row(const RotationArguments a, __nv_bfloat16* rotated) {
  using Lanes = HeadLanes<kHeadDim>;
  const int lane = threadIdx.x % kWarp, row = (blockIdx.x * kPassThreads + threadIdx.x) / kWarp;
  if (row >= a.rows) return;
  const int at = lane % Lanes::kCount * BfPack::kSize;
  LaneAngles cos, sin;
  cos.load(a.cos + static_cast<int64_t>(row) * kHeadDim + at);
  sin.load(a.sin + static_cast<int64_t>(row) * kHeadDim + at);
  const BfPack q_norm = load_pack(a.q_norm + at), k_norm = load_pack(a.k_norm + at);
#pragma unroll 4
  for (int first = 0; first < a.all; first += Lanes::kHeads) {
    const int head = first + lane / Lanes::kCount;
    const bool is_there = head < a.all;  // the others take part in the exchange of lanes
    BfPack some = {};
    if (is_there) some = load_pack(a.qkv + row * a.stride + head * kHeadDim + at);
    const auto norm = [&](int i) { return widen(head < a.heads ? q_norm.values[i] : k_norm.values[i]); };
    float squares = 0;
#pragma unroll
    for (int i = 0; i < BfPack::kSize; ++i) squares += widen(some.values[i]) * widen(some.values[i]);
    const float scale = 1.0f / sqrtf(Lanes::sum(squares) / static_cast<float>(kHeadDim) + a.eps);
#pragma unroll
    for (int i = 0; i < BfPack::kSize; ++i) {
      const float x = rounded<__nv_bfloat16>(widen(some.values[i]) * scale * norm(i));
      narrow(fmaf(Lanes::paired(x), sin.values[i], __fmul_rn(x, cos.values[i])), some.values[i]);
    }
    if (is_there) store_pack(rotated + (static_cast<int64_t>(row) * a.all + head) * kHeadDim + at, some);
  }
}

// The sums of a norm's gradient over a block's warps, to `partial`.
template <int kHeadDim>
__device__ inline void store_norm_sums(float (&sum)[BfPack::kSize],
                                       float (&shared)[kPassThreads / kWarp][kHeadDim], float* partial) {
  using Lanes = HeadLanes<kHeadDim>;
  const int lane = threadIdx.x % kWarp, at = lane % Lanes::kCount * BfPack::kSize;
#pragma unroll
  for (int i = 0; i < BfPack::kSize; ++i) {
#pragma unroll
    for (int apart = Lanes::kCount; apart < kWarp; apart *= 2)
      sum[i] += __shfl_xor_sync(kAllLanes, sum[i], apart);
    if (lane < Lanes::kCount) shared[threadIdx.x / kWarp][at + i] = sum[i];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kHeadDim; i += kPassThreads) {
    float total = 0;
    for (int w = 0; w < kPassThreads / kWarp; ++w) total += shared[w][i];
    partial[i] = total;
  }
  __syncthreads();
}

struct RotationGradient {
  __nv_bfloat16* grad;  // from the first head on
  int64_t stride;
  const __nv_bfloat16 *x, *weight;  // projected heads, from the first on, and their norm's weight
  int heads;
};

// Rotated heads are n cos + paired(n) sin, and the sines of a pair are each other's negative: so n has the
// gradient g cos - paired(g) sin, from which on it is a norm's (norm_pass.cuh). Of every row that is the
// warp's.
template <int kHeadDim>
__device__ inline void turn_back(const RotationArguments& a, const RotationGradient& of,
                                 float (&sum)[BfPack::kSize]) {
  using Lanes = HeadLanes<kHeadDim>;
  const int lane = threadIdx.x % kWarp, at = lane % Lanes::kCount * BfPack::kSize;
  const BfPack weight = load_pack(of.weight + at);
  constexpr int kWarps = kPassThreads / kWarp;
  for (int row = blockIdx.x * kWarps + threadIdx.x / kWarp; row < a.rows; row += gridDim.x * kWarps) {
    LaneAngles cos, sin;
    cos.load(a.cos + static_cast<int64_t>(row) * kHeadDim + at);
    sin.load(a.sin + static_cast<int64_t>(row) * kHeadDim + at);
#pragma unroll 2
    for (int first = 0; first < of.heads; first += Lanes::kHeads) {
      const int head = first + lane / Lanes::kCount;
      const bool is_there = head < of.heads;
      const int64_t offset = head * kHeadDim + at;
      BfPack x = {}, some = {};
      if (is_there) {
        x = load_pack(of.x + row * a.stride + offset);
        some = load_pack(of.grad + row * of.stride + offset);
      }
      float turned[BfPack::kSize], squares = 0, dot = 0;
#pragma unroll
      for (int i = 0; i < BfPack::kSize; ++i) {
        const float g = widen(some.values[i]), value = widen(x.values[i]);
        turned[i] = g * cos.values[i] - Lanes::paired(g) * sin.values[i];
        squares += value * value;
        dot += turned[i] * widen(weight.values[i]) * value;
      }
      const float scale = 1.0f / sqrtf(Lanes::sum(squares) / static_cast<float>(kHeadDim) + a.eps);
      const float shrink = scale * scale * Lanes::sum(dot) / static_cast<float>(kHeadDim);
#pragma unroll
      for (int i = 0; i < BfPack::kSize; ++i) {
        const float value = widen(x.values[i]);
        narrow(scale * (turned[i] * widen(weight.values[i]) - value * shrink), some.values[i]);
        if (is_there) sum[i] += turned[i] * value * scale;
      }
      if (is_there) store_pack(of.grad + row * of.stride + offset, some);
    }
  }
}

constexpr int kRotationBlocks = 3;  // that a multiprocessor has at a time
template <int kHeadDim>
__global__ void __launch_bounds__(kPassThreads, kRotationBlocks)
    rotate_heads_backward_rows(const RotationArguments a, __nv_bfloat16* grad, int64_t grad_stride,
                               float* partial) {
  __shared__ float shared[kPassThreads / kWarp][kHeadDim];
#pragma unroll 1
  for (int part = 0; part < 2; ++part) {  // queries, keys
    const int first = part == 0 ? 0 : a.heads;
    float sum[BfPack::kSize] = {};
    turn_back<kHeadDim>(a,
                        {grad + first * kHeadDim, grad_stride, a.qkv + first * kHeadDim,
                         part == 0 ? a.q_norm : a.k_norm, part == 0 ? a.heads : a.all - a.heads},
                        sum);
    if (partial)
      store_norm_sums<kHeadDim>(sum, shared, partial + (int64_t{blockIdx.x} * 2 + part) * kHeadDim);
  }
}

}  // namespace bicrl::gpu
