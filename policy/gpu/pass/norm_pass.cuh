// Norms of a training pass on the device, each way.
#pragma once
#include "policy/gpu/pass/pass_elements.cuh"

namespace bicrl::gpu {

// A warp for each row, which it keeps in registers: kPacks times sixteen bytes a lane.
template <int kPacks>
__global__ void __launch_bounds__(kPassThreads)
    norm_pass_row(const __nv_bfloat16* x, const int64_t* names, const __nv_bfloat16* weight, float eps,
                  __nv_bfloat16* out, FaultRecord fault, int rows, int width) {
  const int lane = threadIdx.x % kWarp, row = (blockIdx.x * kPassThreads + threadIdx.x) / kWarp;
  if (row >= rows) return;
  const __nv_bfloat16* const from = x + static_cast<int64_t>(row) * width;
  BfPack some[kPacks];
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    const int at = (i * kWarp + lane) * BfPack::kSize;
    if (at < width) some[i] = load_pack(from + at);
  }
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    if ((i * kWarp + lane) * BfPack::kSize >= width) continue;
#pragma unroll
    for (int j = 0; j < BfPack::kSize; ++j) {
      const float value = widen(some[i].values[j]);
      squares += value * value;
    }
  }
  const float mean = sum_of_warp(squares) / static_cast<float>(width);
  if (lane == 0) note_fault(fault, names ? names[row] : row, mean);
  const float scale = 1.0f / sqrtf(mean + eps);
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    const int at = (i * kWarp + lane) * BfPack::kSize;
    if (at >= width) continue;
    const BfPack w = load_pack(weight + at);
#pragma unroll
    for (int j = 0; j < BfPack::kSize; ++j)
      narrow(widen(some[i].values[j]) * scale * widen(w.values[j]), some[i].values[j]);
    store_pack(out + static_cast<int64_t>(row) * width + at, some[i]);
  }
}

struct NormBackwardArguments {
  const __nv_bfloat16 *grad, *x;
  const int64_t* names;
  const __nv_bfloat16 *weight, *residual;
  __nv_bfloat16* out;
  float* partial;
  FaultRecord fault;
  float eps;
  int rows, width;
};

// Two sums over the block. `shared` is not written again before another call has passed its barrier.
__device__ inline float2 sum_of_block(float2 mine, float2* shared) {
  mine.x = sum_of_warp(mine.x);
  mine.y = sum_of_warp(mine.y);
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = mine;
  __syncthreads();
  float2 total = {0, 0};
  for (unsigned w = 0; w < blockDim.x / kWarp; ++w) {
    total.x += shared[w].x;
    total.y += shared[w].y;
  }
  return total;
}

// With y = s x w and g = dL/dy: dL/dx = s (g w - x s^2 mean(g w x)), and dL/dw sums g s x over rows. A block
// goes over every gridDim-th row, so that a thread keeps its columns' part of dL/dw in registers.
constexpr int kNormBlocks = 4;  // of one pack a thread that a multiprocessor has at a time
template <int kPacks>
__global__ void __launch_bounds__(kPassThreads, kNormBlocks / kPacks)
    norm_backward_rows(const NormBackwardArguments a) {
  __shared__ float2 shared[2][kPassThreads / kWarp];
  const auto column = [](int i) { return static_cast<int>(i * blockDim.x + threadIdx.x) * BfPack::kSize; };
  BfPack weight[kPacks];
  float weight_sum[kPacks][BfPack::kSize] = {};
#pragma unroll
  for (int i = 0; i < kPacks; ++i)
    if (column(i) < a.width) weight[i] = load_pack(a.weight + column(i));
  int parity = 0;
  for (int row = blockIdx.x; row < a.rows; row += gridDim.x, parity ^= 1) {
    const int64_t begin = static_cast<int64_t>(row) * a.width;
    BfPack x[kPacks], grad[kPacks], kept[kPacks];
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      if (column(i) >= a.width) continue;
      x[i] = load_pack(a.x + begin + column(i));
      grad[i] = load_pack(a.grad + begin + column(i));
      if (a.residual) kept[i] = load_pack(a.residual + begin + column(i));
    }
    float2 sums = {0, 0};  // of squares, of g w x
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      if (column(i) >= a.width) continue;
#pragma unroll
      for (int j = 0; j < BfPack::kSize; ++j) {
        const float value = widen(x[i].values[j]);
        sums.x += value * value;
        sums.y += widen(grad[i].values[j]) * widen(weight[i].values[j]) * value;
      }
    }
    sums = sum_of_block(sums, shared[parity]);
    if (threadIdx.x == 0) note_fault(a.fault, a.names ? a.names[row] : row, sums.y);
    const float scale = 1.0f / sqrtf(sums.x / static_cast<float>(a.width) + a.eps);
    const float shrink = scale * scale * sums.y / static_cast<float>(a.width);
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      if (column(i) >= a.width) continue;
      BfPack out;
#pragma unroll
      for (int j = 0; j < BfPack::kSize; ++j) {
        const float value = widen(x[i].values[j]), g = widen(grad[i].values[j]);
        float to = scale * (g * widen(weight[i].values[j]) - value * shrink);
        if (a.residual) to += widen(kept[i].values[j]);
        narrow(to, out.values[j]);
        weight_sum[i][j] += g * value * scale;
      }
      store_pack(a.out + begin + column(i), out);
    }
  }
  if (!a.partial) return;
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    if (column(i) >= a.width) continue;
#pragma unroll
    for (int j = 0; j < BfPack::kSize; ++j)
      a.partial[static_cast<int64_t>(blockIdx.x) * a.width + column(i) + j] = weight_sum[i][j];
  }
}

constexpr int kPartialColumns = 32, kPartialGroups = 16;

// A thread sums every kPartialGroups-th row of a column, then the block those sums.
__global__ void __launch_bounds__(kPartialColumns* kPartialGroups)
    add_partial_rows(const float* partial, int count, int width, float* sum) {
  __shared__ float of_group[kPartialGroups][kPartialColumns];
  const int lane = threadIdx.x % kPartialColumns, group = threadIdx.x / kPartialColumns;
  const int column = blockIdx.x * kPartialColumns + lane;
  float mine = 0;
  if (column < width) {
#pragma unroll 4
    for (int row = group; row < count; row += kPartialGroups)
      mine += partial[static_cast<int64_t>(row) * width + column];
  }
  of_group[group][lane] = mine;
  __syncthreads();
  if (group > 0 || column >= width) return;
  float total = 0;
  for (int g = 0; g < kPartialGroups; ++g) total += of_group[g][lane];
  sum[column] += total;
}

}  // namespace bicrl::gpu
