// The softmax of rows whose keys come one after the other (flash attention): a warp's rows, as the products
// of matrices leave them in its threads, with the best score so far and the sums relative to it.
#pragma once
#include "policy/gpu/paged_attention/attention_arguments.cuh"
#include "policy/gpu/products/tensor_core.cuh"

namespace bicrl::gpu {

// Of a product: rows and depth of the first factor, columns of the second.
constexpr int kMmaRows = 16;
constexpr int kMmaDepth = 16;
constexpr int kMmaWidth = 8;

// What one warp knows of kParts times sixteen rows. A thread has two of each sixteen, eight apart; of keys
// and of the output's dimensions, two neighbours of each eight.
template <int kHeadDim, int kParts>
struct SoftmaxRows {
  float out[kParts][kHeadDim / kMmaWidth][4];  // not divided by `sum` yet
  float best[kParts][2];                       // of the scores
  float sum[kParts][2];                        // of this thread's keys alone
  int limit[kParts][2];                        // keys of the list below it are seen
};

template <int kHeadDim, int kParts>
__device__ inline void begin_rows(const AttentionArguments& a, const AttentionTile& tile, int first,
                                  SoftmaxRows<kHeadDim, kParts>& rows) {
  const int lane = threadIdx.x % kWarp, used = tile.rows * a.group;
#pragma unroll
  for (int m = 0; m < kParts; ++m) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int own = first + m * kMmaRows + i * 8 + lane / 4;
      const int64_t limit = a.key_limits[tile.first_row + (own < used ? a.row_of(own) : 0)];
      rows.limit[m][i] = min(static_cast<int>(limit) - tile.base, tile.end_key);
      rows.best[m][i] = kNever;
      rows.sum[m][i] = 0;
    }
#pragma unroll
    for (int d = 0; d < kHeadDim / kMmaWidth; ++d)
      for (int i = 0; i < 4; ++i) rows.out[m][d][i] = 0;
  }
}

// Scores of so many eights of keys become weights, relative to the best score so far; earlier sums are
// rescaled to it.
template <int kHeadDim, int kParts, int kEights>
__device__ inline void weigh_rows(float scale_log2, int first_key, SoftmaxRows<kHeadDim, kParts>& rows,
                                  float (&score)[kParts][kEights][4]) {
  const int lane = threadIdx.x % kWarp;
  bool cut = false, higher = false;
#pragma unroll
  for (int m = 0; m < kParts; ++m)
    for (int i = 0; i < 2; ++i) cut |= first_key + kEights * kMmaWidth > rows.limit[m][i];
  if (__any_sync(kAllLanes, cut)) {
#pragma unroll
    for (int m = 0; m < kParts; ++m)
#pragma unroll
      for (int n = 0; n < kEights; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          if (first_key + n * kMmaWidth + lane % 4 * 2 + i % 2 >= rows.limit[m][i / 2])
            score[m][n][i] = kNever;
  }
  float best[kParts][2], origin[kParts][2];
#pragma unroll
  for (int m = 0; m < kParts; ++m) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float x = rows.best[m][i];
#pragma unroll
      for (int n = 0; n < kEights; ++n) x = fmaxf(x, fmaxf(score[m][n][i * 2], score[m][n][i * 2 + 1]));
      for (int apart = 1; apart < 4; apart *= 2) x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, apart));
      best[m][i] = x;
      origin[m][i] = x == kNever ? 0.0f : x * scale_log2;  // no key seen so far
      higher |= x > rows.best[m][i];
    }
  }
  if (__any_sync(kAllLanes, higher)) {
#pragma unroll
    for (int m = 0; m < kParts; ++m)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        // Exactly one if it is not higher: a row does not depend on its neighbours.
        const float shrink = exponential2(__fmul_rn(rows.best[m][i], scale_log2) - origin[m][i]);
        rows.best[m][i] = best[m][i];
        rows.sum[m][i] *= shrink;
#pragma unroll
        for (int d = 0; d < kHeadDim / kMmaWidth; ++d) {
          rows.out[m][d][i * 2] *= shrink;
          rows.out[m][d][i * 2 + 1] *= shrink;
        }
      }
  }
#pragma unroll
  for (int m = 0; m < kParts; ++m)
#pragma unroll
    for (int n = 0; n < kEights; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        score[m][n][i] = exponential2(fmaf(score[m][n][i], scale_log2, -origin[m][i / 2]));
        rows.sum[m][i / 2] += score[m][n][i];
      }
}

// The weights of the k-th sixteen keys as the first factor of a product.
template <int kEights>
__device__ inline void pack_weights(const float (&weight)[kEights][4], int k, unsigned (&factor)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    factor[i] = pack_pair(weight[2 * k + i / 2][i % 2 * 2], weight[2 * k + i / 2][i % 2 * 2 + 1]);
}

// What divides a row's sums, as a factor, and the log of its weight to the base of 2. All lanes call it.
struct RowEnd {
  float inverse, log;
};
__device__ inline RowEnd end_row(float scale_log2, float best, float sum_of_thread) {
  float sum = sum_of_thread;
  for (int apart = 1; apart < 4; apart *= 2) sum += __shfl_xor_sync(kAllLanes, sum, apart);
  return {sum > 0 ? 1.0f / sum : 0.0f, sum > 0 ? fmaf(best, scale_log2, log2f(sum)) : kNever};
}

}  // namespace bicrl::gpu
