// Device code of the head's gradient, besides its matrix products.
#pragma once
#include "policy/gpu/head/head_excluded.cuh"
#include "policy/gpu/head/head_kernels.h"
#include "policy/gpu/pass/pass_elements.cuh"

namespace bicrl::gpu {

struct FactorArguments {
  const float *grad, *log_prob, *sum, *odds;
  const __nv_bfloat16* hidden;
  float *factor, *label_factor;
  __nv_bfloat16* scaled;
  float inverse_temperature;
  int width;
};

// With p the probabilities and g the gradient of log p(label): that of logit v is g (1 - p) / T for the label
// and -g p / T for the others, of which p is the weight over the sum. Of rows that exclude the label
// head_excluded.cuh has the formula.
__global__ void __launch_bounds__(kPassThreads) head_factor_row(const FactorArguments a) {
  const int64_t row = blockIdx.x;
  const float g = a.grad[row] * a.inverse_temperature;
  const float odds = a.odds ? a.odds[row] : kDrewLabel;
  const float factor = g * odds / a.sum[row];
  if (threadIdx.x == 0) {
    const float log_prob = a.log_prob[row];
    a.factor[row] = factor;
    a.label_factor[row] = odds == 0 ? 0.0f : -g * (odds == kDrewLabel ? expm1f(log_prob) : expf(log_prob));
  }
  if (!a.scaled) return;
  for (int at = threadIdx.x * BfPack::kSize; at < a.width; at += kPassThreads * BfPack::kSize) {
    BfPack some = load_pack(a.hidden + row * a.width + at);
#pragma unroll
    for (int j = 0; j < BfPack::kSize; ++j) narrow(widen(some.values[j]) * factor, some.values[j]);
    store_pack(a.scaled + row * a.width + at, some);
  }
}

struct GradientRowArguments {
  const float *product, *factor, *label_factor;
  const int64_t* labels;
  const __nv_bfloat16* weight;
  __nv_bfloat16* out;
  int width;
};

__global__ void __launch_bounds__(kPassThreads) head_gradient_row(const GradientRowArguments a) {
  const int64_t row = blockIdx.x;
  const float factor = a.factor[row], label_factor = a.label_factor[row];
  const __nv_bfloat16* const weight = a.weight + a.labels[row] * a.width;
  for (int at = threadIdx.x * BfPack::kSize; at < a.width; at += kPassThreads * BfPack::kSize) {
    const BfPack of_label = load_pack(weight + at);
    const auto* from = reinterpret_cast<const float4*>(a.product + row * a.width + at);
    const float4 low = from[0], high = from[1];
    const float product[BfPack::kSize] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    BfPack out;
#pragma unroll
    for (int j = 0; j < BfPack::kSize; ++j)
      narrow(factor * product[j] + label_factor * widen(of_label.values[j]), out.values[j]);
    store_pack(a.out + row * a.width + at, out);
  }
}

struct LabelRowArguments {
  const int64_t* labels;
  const float* label_factor;
  const __nv_bfloat16* hidden;
  float* sum;
  int rows, width;
};

constexpr int kLabelThreads = 2 * kWarp;

// The block of the first row of a label sums all of its rows, in their order, a thread eight columns.
__global__ void __launch_bounds__(kLabelThreads) head_label_row(const LabelRowArguments a) {
  __shared__ int found[kLabelThreads];
  __shared__ int count;
  const int row = blockIdx.x, thread = static_cast<int>(threadIdx.x);
  const int at = (static_cast<int>(blockIdx.y) * kLabelThreads + thread) * BfPack::kSize;
  const int64_t label = a.labels[row];
  int before = 0;
  for (int other = thread; other < row; other += kLabelThreads) before |= a.labels[other] == label;
  if (__syncthreads_or(before)) return;
  float sum[BfPack::kSize] = {};
  for (int first = row; first < a.rows; first += kLabelThreads) {
    const bool same = first + thread < a.rows && a.labels[first + thread] == label;
    const int of_block = __syncthreads_count(same);  // the list before has been read
    if (of_block == 0) continue;
    // The place of this row among those found: how many threads before this one found theirs.
    const unsigned of_warp = __ballot_sync(kAllLanes, same);
    if (thread == 0) count = __popc(of_warp);
    __syncthreads();
    const int place = (thread < kWarp ? 0 : count) + __popc(of_warp & ((1u << thread % kWarp) - 1));
    if (same) found[place] = first + thread;
    __syncthreads();
    if (at >= a.width) continue;
#pragma unroll 4
    for (int i = 0; i < of_block; ++i) {
      const BfPack some = load_pack(a.hidden + static_cast<int64_t>(found[i]) * a.width + at);
      const float factor = a.label_factor[found[i]];
#pragma unroll
      for (int j = 0; j < BfPack::kSize; ++j) sum[j] += factor * widen(some.values[j]);
    }
  }
  if (at >= a.width) return;
  float* const to = a.sum + label * a.width + at;
#pragma unroll
  for (int j = 0; j < BfPack::kSize; ++j) to[j] += sum[j];
}

}  // namespace bicrl::gpu
