// Device side of attention over pages: flash attention of one tile at a time. The rows of a tile are its
// rows of queries times the query heads of one key head, sixteen to a warp; keys come in steps
// (key_stream.cuh). Where a tile has rows for fewer than all warps, several share sixteen rows: each scores a
// part of a step's keys, they tell each other the scores, and each weighs a part of the values' dimensions.
#pragma once
#include "policy/gpu/key_stream.cuh"

namespace bicrl::gpu {

constexpr int kMmaRows = 16;
constexpr int kMaxSharedRows = kAttentionWarps / 2 * kMmaRows;  // that more than one warp has
constexpr int kScoreStride = kStepKeys + 8;                     // rows of scores do not meet in banks
constexpr float kNever = -INFINITY;

template <int kHeadDim>
struct AttentionMemory {
  StreamMemory<kHeadDim> stream;
  float scores[kMaxSharedRows * kScoreStride];
};

// What one warp knows of its sixteen rows while it goes over the keys. A thread has two of the rows, eight
// apart: elements 0 and 1 of a product are of the first, 2 and 3 of the second. Of the output it has kDims
// dimensions.
template <int kHeadDim, int kDims>
struct WarpRows {
  unsigned q[kHeadDim / 16][4];
  float out[kDims / 8][4];  // not divided by `sum` yet
  float best[2];            // of the scores
  float sum[2];             // of this thread's keys alone
  int limit[2];             // keys of the list below it are seen
  int share[2];             // row of the partial output; -1: none, nobody looks at the row
};

template <int kHeadDim, int kDims>
__device__ inline void begin_rows(const AttentionArguments& a, const AttentionTile& tile, int kv_head,
                                  int first_row, WarpRows<kHeadDim, kDims>& rows) {
  const int lane = threadIdx.x % kWarp, group = a.heads / a.kv_heads;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int packed = first_row + lane / 4 + 8 * half;
    const bool used = packed < tile.rows * group;
    const int row = used ? packed / group : 0, head = kv_head * group + (used ? packed % group : 0);
    const auto* const q = reinterpret_cast<const unsigned*>(
        a.q + (static_cast<int64_t>(tile.first_row + row) * a.heads + head) * kHeadDim);
#pragma unroll
    for (int k = 0; k < kHeadDim / 16; ++k) {
      rows.q[k][half] = q[k * 8 + lane % 4];
      rows.q[k][half + 2] = q[k * 8 + 4 + lane % 4];
    }
    rows.limit[half] = min(static_cast<int>(a.key_limits[tile.first_row + row]) - tile.base, tile.end_key);
    rows.share[half] = used ? (tile.first_share + row) * a.heads + head : -1;
    rows.best[half] = kNever;
    rows.sum[half] = 0;
  }
#pragma unroll
  for (int n = 0; n < kDims / 8; ++n)
    for (int i = 0; i < 4; ++i) rows.out[n][i] = 0;
}

// Scores of kKeys keys of a step, from `first` on.
template <int kHeadDim, int kKeys>
__device__ inline void score_keys(const unsigned (&q)[kHeadDim / 16][4], unsigned keys, int first,
                                  float (&score)[kKeys / 8][4]) {
  const int lane = threadIdx.x % kWarp, matrix = lane / 8;
  // Two times eight keys, each with two times eight dimensions.
  const unsigned at = further(row_address<kHeadDim>(keys, first + matrix / 2 * 8 + lane % 8), matrix % 2);
#pragma unroll
  for (int n = 0; n < kKeys / 8; ++n)
    for (int i = 0; i < 4; ++i) score[n][i] = 0;
#pragma unroll
  for (int k = 0; k < kHeadDim / 16; ++k) {
#pragma unroll
    for (int n = 0; n < kKeys / 16; ++n) {
      unsigned b[4];
      load_matrices(further(at, 2 * k) + n * 16 * kHeadDim * 2, b);
      multiply_add(score[2 * n], q[k], b[0], b[1]);
      multiply_add(score[2 * n + 1], q[k], b[2], b[3]);
    }
  }
}

// Each of the warps that share sixteen rows gives the scores of its keys, and gets those of all.
template <int kKeys>
__device__ inline void exchange_scores(float* rows, int first, const float (&own)[kKeys / 8][4],
                                       float (&all)[kStepKeys / 8][4]) {
  const int lane = threadIdx.x % kWarp;
  float* const at = rows + lane / 4 * kScoreStride + lane % 4 * 2;
  constexpr int kHalf = 8 * kScoreStride;
#pragma unroll
  for (int n = 0; n < kKeys / 8; ++n) {
    *reinterpret_cast<float2*>(at + first + n * 8) = make_float2(own[n][0], own[n][1]);
    *reinterpret_cast<float2*>(at + kHalf + first + n * 8) = make_float2(own[n][2], own[n][3]);
  }
  __syncthreads();
#pragma unroll
  for (int n = 0; n < kStepKeys / 8; ++n) {
    const float2 upper = *reinterpret_cast<const float2*>(at + n * 8),
                 lower = *reinterpret_cast<const float2*>(at + kHalf + n * 8);
    all[n][0] = upper.x;
    all[n][1] = upper.y;
    all[n][2] = lower.x;
    all[n][3] = lower.y;
  }
}

// Scores become weights, relative to the best score so far; what was summed up before is told.
template <int kHeadDim, int kDims>
__device__ inline void weigh(float scale_log2, int first_key, WarpRows<kHeadDim, kDims>& rows,
                             float (&score)[kStepKeys / 8][4]) {
  const int lane = threadIdx.x % kWarp, end_key = first_key + kStepKeys;
  if (__any_sync(kAllLanes, end_key > rows.limit[0] || end_key > rows.limit[1])) {
#pragma unroll
    for (int n = 0; n < kStepKeys / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (first_key + n * 8 + lane % 4 * 2 + i % 2 >= rows.limit[i / 2]) score[n][i] = kNever;
  }
  float origin[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float best = rows.best[half];
#pragma unroll
    for (int n = 0; n < kStepKeys / 8; ++n)
      best = fmaxf(best, fmaxf(score[n][2 * half], score[n][2 * half + 1]));
    best = fmaxf(best, __shfl_xor_sync(kAllLanes, best, 1));
    best = fmaxf(best, __shfl_xor_sync(kAllLanes, best, 2));
    origin[half] = best == kNever ? 0.0f : best * scale_log2;  // no key seen so far
    const float shrink = exponential2(fmaf(rows.best[half], scale_log2, -origin[half]));
    rows.best[half] = best;
    rows.sum[half] *= shrink;
#pragma unroll
    for (int n = 0; n < kDims / 8; ++n) {
      rows.out[n][2 * half] *= shrink;
      rows.out[n][2 * half + 1] *= shrink;
    }
  }
#pragma unroll
  for (int n = 0; n < kStepKeys / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      score[n][i] = exponential2(fmaf(score[n][i], scale_log2, -origin[i / 2]));
      rows.sum[i / 2] += score[n][i];
    }
}

// Adds the weighted values of a step, in kDims dimensions from `first` on.
template <int kHeadDim, int kDims>
__device__ inline void add_values(const float (&weight)[kStepKeys / 8][4], unsigned values, int first,
                                  float (&out)[kDims / 8][4]) {
  const int lane = threadIdx.x % kWarp, matrix = lane / 8;
  // Two times eight dimensions, each with two times eight keys.
  const unsigned at =
      further(further(row_address<kHeadDim>(values, matrix % 2 * 8 + lane % 8), first / 8), matrix / 2);
#pragma unroll
  for (int k = 0; k < kStepKeys / 16; ++k) {
    const unsigned a[4] = {pack_pair(weight[2 * k][0], weight[2 * k][1]),
                           pack_pair(weight[2 * k][2], weight[2 * k][3]),
                           pack_pair(weight[2 * k + 1][0], weight[2 * k + 1][1]),
                           pack_pair(weight[2 * k + 1][2], weight[2 * k + 1][3])};
#pragma unroll
    for (int n = 0; n < kDims / 16; ++n) {
      unsigned b[4];
      load_matrices_transposed(further(at, 2 * n) + k * 16 * kHeadDim * 2, b);
      multiply_add(out[2 * n], a, b[0], b[1]);
      multiply_add(out[2 * n + 1], a, b[2], b[3]);
    }
  }
}

// Writes this warp's dimensions of its rows' shares.
template <int kHeadDim, int kDims>
__device__ inline void end_rows(const AttentionArguments& a, int first_dim,
                                const WarpRows<kHeadDim, kDims>& rows) {
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = rows.sum[half];
    sum += __shfl_xor_sync(kAllLanes, sum, 1);
    sum += __shfl_xor_sync(kAllLanes, sum, 2);
    if (rows.share[half] < 0) continue;
    const float inverse = sum > 0 ? 1.0f / sum : 0.0f;
    float* const out =
        a.partial_out + static_cast<int64_t>(rows.share[half]) * kHeadDim + first_dim + lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < kDims / 8; ++n)
      *reinterpret_cast<float2*>(out + n * 8) =
          make_float2(rows.out[n][2 * half] * inverse, rows.out[n][2 * half + 1] * inverse);
    if (first_dim == 0 && lane % 4 == 0)
      a.partial_log[rows.share[half]] = sum > 0 ? rows.best[half] * a.scale_log2 + log2f(sum) : kNever;
  }
}

template <int kHeadDim, int kRowWarps>
__device__ inline void attend_tile(const AttentionArguments& a, const AttentionTile& tile, int kv_head,
                                   KeyStream<kHeadDim>& stream, float* scores) {
  constexpr int kParts = kAttentionWarps / kRowWarps;  // of keys, and of dimensions
  constexpr int kKeys = kStepKeys / kParts, kDims = kHeadDim / kParts;
  const int warp = threadIdx.x / kWarp, row_warp = warp % kRowWarps, part = warp / kRowWarps;
  WarpRows<kHeadDim, kDims> rows;
  begin_rows(a, tile, kv_head, row_warp * kMmaRows, rows);
  const int end_key = tile.end_key;
  for (int first_key = tile.first_key; first_key < end_key; first_key += kStepKeys) {
    const unsigned keys = stream.next(), values = keys + KeyStream<kHeadDim>::kStepBytes;
    float score[kStepKeys / 8][4];
    if constexpr (kParts == 1) {
      score_keys<kHeadDim, kKeys>(rows.q, keys, 0, score);
    } else {
      float own[kKeys / 8][4];
      score_keys<kHeadDim, kKeys>(rows.q, keys, part * kKeys, own);
      exchange_scores<kKeys>(scores + row_warp * kMmaRows * kScoreStride, part * kKeys, own, score);
    }
    weigh(a.scale_log2, first_key, rows, score);
    add_values<kHeadDim, kDims>(score, values, part * kDims, rows.out);
  }
  end_rows(a, part * kDims, rows);
}

// Each block goes over its tasks (BlockTasks).
template <int kHeadDim>
__global__ void __launch_bounds__(kAttentionThreads, kAttentionBlocks)
    attend_tiles(const __grid_constant__ AttentionArguments a) {
  extern __shared__ __align__(128) unsigned char shared[];
  auto& memory = *reinterpret_cast<AttentionMemory<kHeadDim>*>(shared);
  const BlockTasks tasks(a);
  if (tasks.at(0) >= tasks.count) return;
  KeyStream<kHeadDim> stream(a, memory.stream);
  for (int round = 0; tasks.at(round) < tasks.count; ++round) {
    const AttentionTile& tile = memory.stream.tiles[round % kTilesKept];
    const int kv_head = tasks.at(round) % a.kv_heads, used = tile.rows * (a.heads / a.kv_heads);
    if (used <= kMmaRows)
      attend_tile<kHeadDim, 1>(a, tile, kv_head, stream, memory.scores);
    else if (used <= 2 * kMmaRows)
      attend_tile<kHeadDim, 2>(a, tile, kv_head, stream, memory.scores);
    else
      attend_tile<kHeadDim, 4>(a, tile, kv_head, stream, memory.scores);
  }
}

// One warp for each head of a row; a lane looks at one share's weight, and at kHeadDim / kWarp dimensions of
// all shares.
template <int kHeadDim>
__global__ void __launch_bounds__(kAttentionThreads)
    join_shares(const int32_t* first_share, const int32_t* shares, const int32_t* count,
                const float* partial_out, const float* partial_log, __nv_bfloat16* out, int rows, int heads) {
  constexpr int kDims = kHeadDim / kWarp;
  struct alignas(kDims * sizeof(float)) Wide {
    float x[kDims];
  };
  struct alignas(kDims * sizeof(__nv_bfloat16)) Narrow {
    __nv_bfloat16 x[kDims];
  };
  const int lane = threadIdx.x % kWarp;
  const int task = (blockIdx.x * kAttentionThreads + threadIdx.x) / kWarp;
  const int row = task / heads, head = task % heads;
  if (row >= rows || row >= *count) return;
  const int first = first_share[row], end = first_share[row + 1];
  float best = kNever, sum = 0, x[kDims] = {};
  for (int start = first; start < end; start += kWarp) {
    const bool mine = start + lane < end;
    const int at = mine ? shares[start + lane] * heads + head : 0;
    const float log = mine ? partial_log[at] : kNever;
    const float higher = fmaxf(best, max_of_warp(log)), origin = higher == kNever ? 0.0f : higher;
    const float shrink = exponential2(best - origin), weight = exponential2(log - origin);
    best = higher;
    sum = sum * shrink + sum_of_warp(weight);
    for (float& each : x) each *= shrink;
#pragma unroll 4
    for (int i = 0; i < min(kWarp, end - start); ++i) {
      const int64_t from = __shfl_sync(kAllLanes, at, i);
      const float its = __shfl_sync(kAllLanes, weight, i);
      const Wide part = reinterpret_cast<const Wide*>(partial_out + from * kHeadDim)[lane];
      for (int j = 0; j < kDims; ++j) x[j] += its * part.x[j];
    }
  }
  Narrow joined;
  for (int j = 0; j < kDims; ++j) joined.x[j] = __float2bfloat16_rn(x[j] / sum);
  reinterpret_cast<Narrow*>(out + (int64_t{row} * heads + head) * kHeadDim)[lane] = joined;
}

}  // namespace bicrl::gpu
