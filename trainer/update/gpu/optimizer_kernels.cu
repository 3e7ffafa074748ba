#include "trainer/update/gpu/optimizer_kernels.h"

#include <cuda_bf16.h>

#include <algorithm>

#include "policy/gpu/launch_check.h"

namespace bicrl::gpu {
namespace {

constexpr int kThreads = 256, kWarp = 32;
constexpr unsigned kAllLanes = 0xFFFFFFFFu;

// ---- Norm.
__global__ void __launch_bounds__(kThreads)
    sum_squares_part(const float* values, int64_t count, double* parts) {
  __shared__ double of_warp[kThreads / kWarp];
  const int64_t quads = count / 4, step = int64_t{gridDim.x} * kThreads;
  double mine = 0;
  const auto square = [](float4 x) { return x.x * x.x + x.y * x.y + (x.z * x.z + x.w * x.w); };
  const auto* four = reinterpret_cast<const float4*>(values);
  int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; i + 3 * step < quads; i += 4 * step) {
    const float4 a = four[i], b = four[i + step], c = four[i + 2 * step], d = four[i + 3 * step];
    mine += static_cast<double>(square(a)) + static_cast<double>(square(b)) +
            (static_cast<double>(square(c)) + static_cast<double>(square(d)));
  }
  for (; i < quads; i += step) mine += static_cast<double>(square(four[i]));
  if (blockIdx.x == 0)
    for (int64_t j = quads * 4 + threadIdx.x; j < count; j += kThreads)
      mine += static_cast<double>(values[j]) * static_cast<double>(values[j]);
  for (int apart = kWarp / 2; apart > 0; apart /= 2) mine += __shfl_xor_sync(kAllLanes, mine, apart);
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = mine;
  __syncthreads();
  if (threadIdx.x > 0) return;
  double total = 0;
  for (const double part : of_warp) total += part;
  parts[blockIdx.x] = total;
}

// A warp for each array, one block.
__global__ void __launch_bounds__(kThreads)
    clip_factor_block(const double* parts, int arrays, double max_norm, double* squares, double* norm,
                      float* factor) {
  const int lane = threadIdx.x % kWarp;
  for (int array = threadIdx.x / kWarp; array < arrays; array += kThreads / kWarp) {
    double mine = 0;
    for (int i = lane; i < kSquareParts; i += kWarp) mine += parts[array * kSquareParts + i];
    for (int apart = kWarp / 2; apart > 0; apart /= 2) mine += __shfl_xor_sync(kAllLanes, mine, apart);
    if (lane == 0) squares[array] = mine;
  }
  __syncthreads();
  if (threadIdx.x > 0) return;
  double total = 0;
  for (int array = 0; array < arrays; ++array) total += squares[array];
  const double found = sqrt(total);
  *norm = found;
  if (!isfinite(found))
    *factor = -1;
  else
    *factor = max_norm == 0 || found <= max_norm ? 1.0f : static_cast<float>(max_norm / (found + 1e-6));
}

// ---- Step.
template <int kValues>
struct alignas(4 * kValues) Floats {
  float values[kValues];
};
template <int kValues>
struct alignas(2 * kValues) Halves {
  __nv_bfloat16 values[kValues];
};

__device__ inline float interpolate(float from, float to, float share) {
  return share < 0.5f ? from + share * (to - from) : to - (to - from) * (1.0f - share);
}

// As torch's operators round it: lerp, mul and addcmul, sqrt, div and add, addcdiv.
__device__ inline void step_value(const AdamWRange& a, float g, float& master, float& first, float& second) {
  first = interpolate(first, g, 1.0f - a.beta1);
  second = second * a.beta2 + (1.0f - a.beta2) * g * g;
  const float denominator = sqrtf(second) * a.inverse_root + a.eps;
  master = master * a.decay - a.rate * (first / denominator);
}

template <int kValues>
__global__ void __launch_bounds__(kThreads) adamw_values(const AdamWRange a) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const float factor = *a.factor;
  float largest = 0;
  if (i < a.count / kValues) {
    auto& master = reinterpret_cast<Floats<kValues>*>(a.master)[i];
    auto& gradient = reinterpret_cast<Floats<kValues>*>(a.gradient)[i];
    Floats<kValues> value = master;
    if (factor >= 0) {
      const Floats<kValues> g = gradient;
      Floats<kValues> first = reinterpret_cast<Floats<kValues>*>(a.first)[i],
                      second = reinterpret_cast<Floats<kValues>*>(a.second)[i];
#pragma unroll
      for (int j = 0; j < kValues; ++j)
        step_value(a, g.values[j] * factor, value.values[j], first.values[j], second.values[j]);
      master = value;
      reinterpret_cast<Floats<kValues>*>(a.first)[i] = first;
      reinterpret_cast<Floats<kValues>*>(a.second)[i] = second;
    }
    gradient = {};
    if (a.policy) {
      Halves<kValues> narrow;
#pragma unroll
      for (int j = 0; j < kValues; ++j) {
        narrow.values[j] = __float2bfloat16_rn(value.values[j]);
        value.values[j] = __bfloat162float(narrow.values[j]);
      }
      if (factor >= 0) reinterpret_cast<Halves<kValues>*>(a.policy)[i] = narrow;
    }
#pragma unroll
    for (int j = 0; j < kValues; ++j) {
      const float magnitude = fabsf(value.values[j]);
      largest = fmaxf(largest, isnan(magnitude) ? INFINITY : magnitude);
    }
  }
  for (int apart = kWarp / 2; apart > 0; apart /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, apart));
  __shared__ float of_warp[kThreads / kWarp];
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = largest;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (const float other : of_warp) largest = fmaxf(largest, other);
  atomicMax(a.largest, __float_as_int(largest));
}

}  // namespace

void sum_squares(const float* values, int64_t count, double* parts, Stream stream) {
  sum_squares_part<<<static_cast<unsigned>(kSquareParts), kThreads, 0, stream>>>(values, count, parts);
  check_launch("sum_squares");
}

void clip_factor(const ClipFactor& work, Stream stream) {
  clip_factor_block<<<1, kThreads, 0, stream>>>(work.parts, static_cast<int>(work.arrays), work.max_norm,
                                                work.squares, work.norm, work.factor);
  check_launch("clip_factor");
}

void adamw_step(const AdamWRange& work, Stream stream) {
  if (work.count == 0) return;
  const auto bits = reinterpret_cast<uintptr_t>(work.gradient) | reinterpret_cast<uintptr_t>(work.master) |
                    reinterpret_cast<uintptr_t>(work.first) | reinterpret_cast<uintptr_t>(work.second) |
                    2 * reinterpret_cast<uintptr_t>(work.policy);
  const bool in_fours = work.count % 4 == 0 && bits % 16 == 0;
  const int64_t threads = in_fours ? work.count / 4 : work.count;
  const auto blocks = static_cast<unsigned>((threads + kThreads - 1) / kThreads);
  if (in_fours)
    adamw_values<4><<<blocks, kThreads, 0, stream>>>(work);
  else
    adamw_values<1><<<blocks, kThreads, 0, stream>>>(work);
  check_launch("adamw_step");
}

}  // namespace bicrl::gpu
