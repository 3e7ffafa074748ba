// The softmax of a run's rows whose keys come chunk by chunk. Of sixteen rows of a warp's product a thread
// has two, eight apart (i), and of each eight columns two neighbours: x[column / 8][2 i + column % 2].
#pragma once
#include "policy/gpu/pack_attention/pack_arguments.cuh"
#include "policy/gpu/products/tensor_core.cuh"

namespace bicrl::gpu {

constexpr int kChunkEights = kChunkKeys / 8;
// How far, in powers of two, weights may grow beyond one before the sums are made relative to a better score.
constexpr float kGrowth = 8;

// A thread's two product rows of a run: `first` is the warp's first one. Those behind the run's last one
// repeat that row, and nobody writes what becomes of them.
struct ThreadRows {
  int product_row[2];
  int in_run[2];  // row of the run
  int row[2];     // of the pack
  __device__ ThreadRows(const PackArguments& a, const QueryRun& run, int first) {
    const int lane = threadIdx.x % kWarp;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      product_row[i] = first + i * 8 + lane / 4;
      in_run[i] = max(min(a.row_in_run(product_row[i]), run.rows - 1), 0);
      row[i] = run.first_row + in_run[i];
    }
  }
};

// Scores of columns that are not seen never were. Few instructions, as they are seldom needed and then have
// to be fetched.
__device__ inline void mask_scores(const SeenColumns (&seen)[2], float (&score)[kChunkEights][4]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const uint64_t bits = seen[i].bits() >> threadIdx.x % 4 * 2;
    const auto lower = static_cast<unsigned>(bits), upper = static_cast<unsigned>(bits >> 32);
#pragma unroll
    for (int n = 0; n < kChunkEights; ++n)
#pragma unroll
      for (int j = 0; j < 2; ++j)
        if (((n < kChunkEights / 2 ? lower : upper) & 1u << (n % (kChunkEights / 2) * 8 + j)) == 0)
          score[n][i * 2 + j] = kMasked;
  }
}

// What two rows' scores are relative to, times log2(e), and the sums of this thread's columns.
struct RowSums {
  float origin[2] = {kMasked, kMasked};
  float sum[2] = {0, 0};
};

// Scores become weights. Returns whether what was added up before has to be multiplied by `shrink`; exactly
// one for a row whose own scores did not ask for it, so that a row does not depend on its neighbours.
__device__ inline bool weigh_scores(float scale_log2, RowSums& rows, float (&score)[kChunkEights][4],
                                    float (&shrink)[2]) {
  float best[2];
  bool higher = false;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float x = kMasked;
#pragma unroll
    for (int n = 0; n < kChunkEights; ++n) x = fmaxf(x, fmaxf(score[n][i * 2], score[n][i * 2 + 1]));
#pragma unroll
    for (int apart = 1; apart < 4; apart *= 2) x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, apart));
    best[i] = x * scale_log2;
    higher |= best[i] > rows.origin[i] + kGrowth;
  }
  const bool any = __any_sync(kAllLanes, higher);
  if (any) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float origin = best[i] > rows.origin[i] + kGrowth ? best[i] : rows.origin[i];
      shrink[i] = origin == rows.origin[i] ? 1.0f : exponential2(rows.origin[i] - origin);
      rows.origin[i] = origin;
      rows.sum[i] *= shrink[i];
    }
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float origin = rows.origin[i] == kMasked ? 0.0f : rows.origin[i];  // no key seen so far
#pragma unroll
    for (int n = 0; n < kChunkEights; ++n)
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        float& x = score[n][i * 2 + j];
        x = exponential2(fmaf(x, scale_log2, -origin));
        rows.sum[i] += x;
      }
  }
  return any;
}

template <int kEights>
__device__ inline void shrink_sums(const float (&shrink)[2], float (&out)[kEights][4]) {
#pragma unroll
  for (int d = 0; d < kEights; ++d)
#pragma unroll
    for (int i = 0; i < 4; ++i) out[d][i] *= shrink[i / 2];
}

// Of a row at the end: the factor that divides its sums, and the log of what they were divided by.
struct RowResult {
  float inverse, log_sum;
};
__device__ inline RowResult end_row(const RowSums& rows, int i) {
  float sum = rows.sum[i];
#pragma unroll
  for (int apart = 1; apart < 4; apart *= 2) sum += __shfl_xor_sync(kAllLanes, sum, apart);
  return {1.0f / sum, rows.origin[i] + log2f(sum)};
}

// The k-th sixteen columns of a matrix as the first factor of a product, in bf16.
template <int kEights>
__device__ inline void pack_columns(const float (&x)[kEights][4], int k, unsigned (&factor)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    factor[i] = pack_pair(x[2 * k + i / 2][i % 2 * 2], x[2 * k + i / 2][i % 2 * 2 + 1]);
}

}  // namespace bicrl::gpu
