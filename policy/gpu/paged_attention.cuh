// Device side of attention over pages: flash attention of one tile at a time. The rows of a tile are its rows
// of queries times the query heads of one key head. Here, tiles of few such rows, and the kernel: with keys
// in the place of a product's rows, queries are its columns, eight at a time, so that a short tile wastes
// none. Where a tile has columns for fewer than all warps, several share them: each goes over a part of every
// step's keys (key_stream.cuh) by itself, and what they found is joined once, at the tile's end. Tiles of
// more rows are wide_tile.cuh's.
#pragma once
#include "policy/gpu/key_stream.cuh"
#include "policy/gpu/wide_tile.cuh"

namespace bicrl::gpu {

constexpr int kMmaKeys = 16;
constexpr int kMmaColumns = 8;
constexpr int kWarpColumns = 16;  // at most

// What a warp found of a column: the best score, and the sum of weights relative to it. [warp][column]
struct ColumnStatistics {
  float best[kAttentionWarps * kWarpColumns], sum[kAttentionWarps * kWarpColumns];
};

template <int kHeadDim>
struct AttentionMemory {
  StreamMemory<kHeadDim> stream;
  ColumnStatistics statistics;
};

// What one warp knows of kTiles times eight columns while it goes over its keys. A thread has two neighbours
// of each eight; of keys (and of the output's dimensions) it has one of each eight.
template <int kHeadDim, int kTiles>
struct WarpColumns {
  unsigned q[kHeadDim / 16][kTiles][2];
  float out[kHeadDim / 16][kTiles][4];  // not divided by `sum` yet
  float best[kTiles][2];                // of the scores
  float sum[kTiles][2];                 // of this thread's keys alone
  int limit[kTiles][2];                 // keys of the list below it are seen
};

// The packed rows [first_column, ..) of a tile.
template <int kHeadDim, int kTiles>
__device__ inline void begin_columns(const AttentionArguments& a, const AttentionTile& tile, int kv_head,
                                     int first_column, WarpColumns<kHeadDim, kTiles>& columns) {
  const int lane = threadIdx.x % kWarp, used = tile.rows * a.group;
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
    // A column behind the last one is computed like the first; nobody looks at it.
    const int queried = first_column + j * kMmaColumns + lane / 4, column = queried < used ? queried : 0;
    const auto* const q =
        reinterpret_cast<const unsigned*>(a.q + a.place_of(column, tile.first_row, kv_head) * kHeadDim);
#pragma unroll
    for (int k = 0; k < kHeadDim / 16; ++k) {
      columns.q[k][j][0] = q[k * 8 + lane % 4];
      columns.q[k][j][1] = q[k * 8 + 4 + lane % 4];
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int own = first_column + j * kMmaColumns + lane % 4 * 2 + i;
      const int64_t limit = a.key_limits[tile.first_row + (own < used ? a.row_of(own) : 0)];
      columns.limit[j][i] = min(static_cast<int>(limit) - tile.base, tile.end_key);
      columns.best[j][i] = kNever;
      columns.sum[j][i] = 0;
    }
#pragma unroll
    for (int d = 0; d < kHeadDim / 16; ++d)
      for (int i = 0; i < 4; ++i) columns.out[d][j][i] = 0;
  }
}

// Scores of kParts times sixteen keys of a step, from `first` on.
template <int kHeadDim, int kTiles, int kParts>
__device__ inline void score_keys(const unsigned (&q)[kHeadDim / 16][kTiles][2], unsigned keys, int first,
                                  float (&score)[kParts][kTiles][4]) {
  const int lane = threadIdx.x % kWarp, matrix = lane / 8;
  // Two times eight dimensions, each of two times eight keys.
  const unsigned at = further(row_address<kHeadDim>(keys, first + matrix % 2 * 8 + lane % 8), matrix / 2);
#pragma unroll
  for (int m = 0; m < kParts; ++m)
#pragma unroll
    for (int j = 0; j < kTiles; ++j)
      for (int i = 0; i < 4; ++i) score[m][j][i] = 0;
#pragma unroll
  for (int k = 0; k < kHeadDim / 16; ++k) {
#pragma unroll
    for (int m = 0; m < kParts; ++m) {
      unsigned its[4];
      load_matrices(further(at, 2 * k) + m * kMmaKeys * kHeadDim * 2, its);
#pragma unroll
      for (int j = 0; j < kTiles; ++j) multiply_add(score[m][j], its, q[k][j][0], q[k][j][1]);
    }
  }
}

// Scores become weights, relative to the best score so far; what was summed up before is told.
template <int kHeadDim, int kTiles, int kParts>
__device__ inline void weigh(float scale_log2, int first_key, WarpColumns<kHeadDim, kTiles>& columns,
                             float (&score)[kParts][kTiles][4]) {
  const int lane = threadIdx.x % kWarp;
  bool cut = false, higher = false;
#pragma unroll
  for (int j = 0; j < kTiles; ++j)
    for (int i = 0; i < 2; ++i) cut |= first_key + kParts * kMmaKeys > columns.limit[j][i];
  if (__any_sync(kAllLanes, cut)) {
#pragma unroll
    for (int m = 0; m < kParts; ++m)
#pragma unroll
      for (int j = 0; j < kTiles; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          if (first_key + m * kMmaKeys + i / 2 * 8 + lane / 4 >= columns.limit[j][i % 2])
            score[m][j][i] = kNever;
  }
  float best[kTiles][2], origin[kTiles][2];
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float x = columns.best[j][i];
#pragma unroll
      for (int m = 0; m < kParts; ++m) x = fmaxf(x, fmaxf(score[m][j][i], score[m][j][i + 2]));
      for (int apart = 4; apart < kWarp; apart *= 2) x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, apart));
      best[j][i] = x;
      origin[j][i] = x == kNever ? 0.0f : x * scale_log2;  // no key seen so far
      higher |= x > columns.best[j][i];
    }
  }
  if (__any_sync(kAllLanes, higher)) {
#pragma unroll
    for (int j = 0; j < kTiles; ++j)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        // Exactly one if it is not higher: a column does not depend on its neighbours.
        const float shrink = exponential2(__fmul_rn(columns.best[j][i], scale_log2) - origin[j][i]);
        columns.best[j][i] = best[j][i];
        columns.sum[j][i] *= shrink;
#pragma unroll
        for (int d = 0; d < kHeadDim / 16; ++d) {
          columns.out[d][j][i] *= shrink;
          columns.out[d][j][i + 2] *= shrink;
        }
      }
  }
#pragma unroll
  for (int m = 0; m < kParts; ++m)
#pragma unroll
    for (int j = 0; j < kTiles; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        score[m][j][i] = exponential2(fmaf(score[m][j][i], scale_log2, -origin[j][i % 2]));
        columns.sum[j][i % 2] += score[m][j][i];
      }
}

// Adds the weighted values of the keys that score_keys() took.
template <int kHeadDim, int kTiles, int kParts>
__device__ inline void add_values(const float (&weight)[kParts][kTiles][4], unsigned values, int first,
                                  float (&out)[kHeadDim / 16][kTiles][4]) {
  const int lane = threadIdx.x % kWarp, matrix = lane / 8;
  // Two times eight keys, each of two times eight dimensions.
  const unsigned at = further(row_address<kHeadDim>(values, first + matrix / 2 * 8 + lane % 8), matrix % 2);
#pragma unroll
  for (int m = 0; m < kParts; ++m) {
    // A thread has one key of two columns, and needs two keys of one.
    unsigned by_column[kTiles][2];
#pragma unroll
    for (int j = 0; j < kTiles; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        by_column[j][half] = transposed(pack_pair(weight[m][j][2 * half], weight[m][j][2 * half + 1]));
#pragma unroll
    for (int d = 0; d < kHeadDim / 16; ++d) {
      unsigned its[4];
      load_matrices_transposed(further(at, 2 * d) + m * kMmaKeys * kHeadDim * 2, its);
#pragma unroll
      for (int j = 0; j < kTiles; ++j) multiply_add(out[d][j], its, by_column[j][0], by_column[j][1]);
    }
  }
}

// Where dimensions of a warp's column lie in the memory of a spent step: rotated, so that a warp's writes do
// not meet in banks, four neighbours together.
template <int kHeadDim>
__device__ inline int spent_place(int column, int dimension) {
  return column * kHeadDim + (dimension ^ (column / 2 % 4 * 8));
}

// Leaves a warp's columns where all threads find them.
template <int kHeadDim, int kTiles>
__device__ inline void leave_columns(WarpColumns<kHeadDim, kTiles>& columns, float* spent,
                                     ColumnStatistics& statistics) {
  const int lane = threadIdx.x % kWarp, first = threadIdx.x / kWarp * kWarpColumns;
#pragma unroll
  for (int j = 0; j < kTiles; ++j)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int column = first + j * kMmaColumns + lane % 4 * 2 + i;
#pragma unroll
      for (int d = 0; d < kHeadDim / 16; ++d)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          spent[spent_place<kHeadDim>(column, d * 16 + half * 8 + lane / 4)] =
              columns.out[d][j][half * 2 + i];
      float sum = columns.sum[j][i];
      for (int apart = 4; apart < kWarp; apart *= 2) sum += __shfl_xor_sync(kAllLanes, sum, apart);
      if (lane / 4 == 0) {
        statistics.best[column] = columns.best[j][i];
        statistics.sum[column] = sum;
      }
    }
}

// Writes the shares of a tile's rows, joined of kKeyParts warps each.
template <int kHeadDim, int kKeyParts>
__device__ inline void write_shares(const AttentionArguments& a, const AttentionTile& tile, int kv_head,
                                    const float* spent, const ColumnStatistics& statistics) {
  constexpr int kPartColumns = kAttentionWarps / kKeyParts * kWarpColumns;
  constexpr int kFours = kHeadDim / 4;  // of threads for a column
  const int used = tile.rows * a.group;
  const int dimension = threadIdx.x % kFours * 4;
  for (int column = threadIdx.x / kFours; column < used; column += kAttentionThreads / kFours) {
    float best = kNever;
#pragma unroll
    for (int part = 0; part < kKeyParts; ++part)
      best = fmaxf(best, statistics.best[part * kPartColumns + column]);
    const float origin = best == kNever ? 0.0f : best * a.scale_log2;
    float sum = 0;
    float4 x = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int part = 0; part < kKeyParts; ++part) {
      const int its = part * kPartColumns + column;
      const float weight = exponential2(fmaf(statistics.best[its], a.scale_log2, -origin));
      const float4 y = *reinterpret_cast<const float4*>(spent + spent_place<kHeadDim>(its, dimension));
      sum = fmaf(weight, statistics.sum[its], sum);
      x.x = fmaf(weight, y.x, x.x);
      x.y = fmaf(weight, y.y, x.y);
      x.z = fmaf(weight, y.z, x.z);
      x.w = fmaf(weight, y.w, x.w);
    }
    const float inverse = sum > 0 ? 1.0f / sum : 0.0f;
    const int64_t share = a.place_of(column, tile.first_share, kv_head);
    *reinterpret_cast<uint2*>(a.partial_out + share * kHeadDim + dimension) =
        make_uint2(pack_pair(x.x * inverse, x.y * inverse), pack_pair(x.z * inverse, x.w * inverse));
    if (dimension == 0) a.partial_log[share] = sum > 0 ? origin + log2f(sum) : kNever;
  }
}

// kColumnWarps warps have kTiles times eight columns each; the others have the same ones, and other keys.
template <int kHeadDim, int kColumnWarps, int kTiles>
__device__ inline void attend_tile(const AttentionArguments& a, const AttentionTile& tile, int kv_head,
                                   KeyStream<kHeadDim>& stream, ColumnStatistics& statistics) {
  constexpr int kKeyParts = kAttentionWarps / kColumnWarps;
  constexpr int kKeys = kStepKeys / kKeyParts;
  constexpr int kAtOnce = kKeys < 32 ? kKeys : 32;  // as scores of more take too many registers
  const int warp = threadIdx.x / kWarp, first = warp / kColumnWarps * kKeys;
  WarpColumns<kHeadDim, kTiles> columns;
  begin_columns(a, tile, kv_head, warp % kColumnWarps * kWarpColumns, columns);
  for (int first_key = tile.first_key; first_key < tile.end_key; first_key += kStepKeys) {
    const unsigned keys = stream.next(), values = keys + KeyStream<kHeadDim>::kStepBytes;
#pragma unroll
    for (int some = first; some < first + kKeys; some += kAtOnce) {
      if (first_key + some >= tile.end_key) break;
      float score[kAtOnce / kMmaKeys][kTiles][4];
      score_keys<kHeadDim>(columns.q, keys, some, score);
      weigh(a.scale_log2, first_key + some, columns, score);
      add_values<kHeadDim>(score, values, some, columns.out);
    }
  }
  __syncthreads();  // the last step's values have been read
  float* const spent = stream.spent();
  leave_columns(columns, spent, statistics);
  __syncthreads();
  write_shares<kHeadDim, kKeyParts>(a, tile, kv_head, spent, statistics);
}

// Each block goes over its tasks (BlockTasks).
template <int kHeadDim>
__global__ void __launch_bounds__(kAttentionThreads, kAttentionBlocks)
    attend_tiles(const __grid_constant__ AttentionArguments a) {
  extern __shared__ __align__(128) unsigned char shared[];
  auto& memory = *reinterpret_cast<AttentionMemory<kHeadDim>*>(shared);
  const BlockTasks tasks(a);
  if (tasks.rounds == 0) return;
  KeyStream<kHeadDim> stream(a, memory.stream);
  for (int round = 0; round < tasks.rounds; ++round) {
    __syncthreads();  // the tile is written, and the memory of the one before read
    const AttentionTile& tile = memory.stream.tiles[round % kTilesKept];
    const int kv_head = tasks.at(round) % a.kv_heads, used = tile.rows * a.group;
    if (used <= kMmaColumns)
      attend_tile<kHeadDim, 1, 1>(a, tile, kv_head, stream, memory.statistics);
    else if (used <= kWarpColumns)
      attend_tile<kHeadDim, 1, 2>(a, tile, kv_head, stream, memory.statistics);
    else if (used <= kNarrowColumns)
      attend_tile<kHeadDim, 2, 2>(a, tile, kv_head, stream, memory.statistics);
    else if (used <= kTileColumns / 2)
      attend_wide_tile<kHeadDim, 1>(a, tile, kv_head, stream);
    else
      attend_wide_tile<kHeadDim, 2>(a, tile, kv_head, stream);
  }
}

// One warp for each head of a row; a lane looks at one share's weight, and at kHeadDim / kWarp dimensions of
// all shares. Rows have few: the first ones' outputs are loaded at once, and beside the weights.
template <int kHeadDim>
__global__ void __launch_bounds__(kAttentionThreads)
    join_shares(const int32_t* first_share, const int32_t* shares, const int32_t* count,
                const __nv_bfloat16* partial_out, const float* partial_log, __nv_bfloat16* out, int rows,
                int heads) {
  constexpr int kDims = kHeadDim / kWarp, kAtOnce = 4;
  struct alignas(kDims * sizeof(__nv_bfloat16)) Part {
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
    const int here = min(kWarp, end - start);
    Part parts[kAtOnce];
    const auto load = [&](int first_part) {
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        const int64_t from = __shfl_sync(kAllLanes, at, first_part + j);
        parts[j] = first_part + j < here ? reinterpret_cast<const Part*>(partial_out + from * kHeadDim)[lane]
                                         : Part{};
      }
    };
    load(0);
    const float higher = fmaxf(best, max_of_warp(log)), origin = higher == kNever ? 0.0f : higher;
    const float shrink = exponential2(best - origin), weight = exponential2(log - origin);
    best = higher;
    sum = sum * shrink + sum_of_warp(weight);
    for (float& each : x) each *= shrink;
    for (int i = 0; i < here; i += kAtOnce) {
      if (i > 0) load(i);
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        const float its = __shfl_sync(kAllLanes, weight, i + j);
        for (int d = 0; d < kDims; ++d) x[d] += its * __bfloat162float(parts[j].x[d]);
      }
    }
  }
  Part joined;
  for (int j = 0; j < kDims; ++j) joined.x[j] = __float2bfloat16_rn(x[j] / sum);
  reinterpret_cast<Part*>(out + (int64_t{row} * heads + head) * kHeadDim)[lane] = joined;
}

}  // namespace bicrl::gpu
