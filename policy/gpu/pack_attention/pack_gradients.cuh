// Gradients of the softmax: what a weight and its score's gradient are, given the row's log-sum and delta,
// which is the sum of out * grad_out over the dimensions.
#pragma once
#include "policy/gpu/pack_attention/pack_softmax.cuh"

namespace bicrl::gpu {

// The sum of out * grad_out over the dimensions of a row's head: four neighbouring lanes have the same row.
template <int kHeadDim>
__device__ inline float delta_of(const PackArguments& a, int row, int head) {
  constexpr int kPacks = kHeadDim / 8 / 4;
  const int64_t first = a.place_of<kHeadDim>(row, head) + threadIdx.x % 4 * 8;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    const auto x = load_pack(a.out + first + i * 32), y = load_pack(a.grad_out + first + i * 32);
#pragma unroll
    for (int d = 0; d < 8; ++d) sum = fmaf(widen(x.values[d]), widen(y.values[d]), sum);
  }
#pragma unroll
  for (int apart = 1; apart < 4; apart *= 2) sum += __shfl_xor_sync(kAllLanes, sum, apart);
  return sum;
}

// A masked score is -inf: it has no weight, and no gradient.
__device__ inline float weight_of(float scale_log2, float log_sum, float score) {
  return exponential2(fmaf(score, scale_log2, -log_sum));
}
// Of a score, but for the scale, from the product of grad_out and the values.
__device__ inline float gradient_of_score(float weight, float delta, float product) {
  return weight * (product - delta);
}

// Where product rows are queries: log-sums and deltas of a thread's two rows.
__device__ inline void differentiate_rows(float scale_log2, const float (&log_sum)[2],
                                          const float (&delta)[2], const float (&score)[kChunkEights][4],
                                          float (&product)[kChunkEights][4]) {
#pragma unroll
  for (int n = 0; n < kChunkEights; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      product[n][i] =
          gradient_of_score(weight_of(scale_log2, log_sum[i / 2], score[n][i]), delta[i / 2], product[n][i]);
}

}  // namespace bicrl::gpu
