// Device side of attention over pages: flash attention of one tile at a time. The rows of a tile are its
// rows of queries times the query heads of one key head; keys come in steps of kStepKeys through shared
// memory, the next step's copies under way while one is computed. Tiles of few rows give each of the four
// warps a part of the keys, tiles of many a part of the rows.
#pragma once
#include "policy/gpu/elements.cuh"
#include "policy/gpu/tensor_core.cuh"

namespace bicrl::gpu {

constexpr int kAttentionWarps = 4;
constexpr int kAttentionThreads = kAttentionWarps * kWarp;
constexpr int kStepKeys = 64;
constexpr int kStages = 2;
constexpr int kPageTokens = 16;  // of KvCache
constexpr int kMmaRows = 16;
constexpr int kTileRows = kAttentionWarps * kMmaRows;
constexpr float kNever = -INFINITY;

// Of the keys, or the values, of one step.
template <int kHeadDim>
constexpr int kStepBytes = kStepKeys* kHeadDim* static_cast<int>(sizeof(__nv_bfloat16));
// Keys and values of the steps under way, and in their place what the warps found.
template <int kHeadDim>
constexpr int kFoundBytes = kTileRows* kHeadDim* static_cast<int>(sizeof(float));
template <int kHeadDim>
constexpr int kAttentionSharedBytes =
    2 * kStages* kStepBytes<kHeadDim> > kFoundBytes<kHeadDim> ? 2 * kStages* kStepBytes<kHeadDim>
                                                              : kFoundBytes<kHeadDim>;

// Arguments of attend_tiles; PagedAttention with pointers of the device's types.
struct AttentionArguments {
  const __nv_bfloat16 *q, *pool;
  const AttentionTile* tiles;
  const int32_t *tile_count, *pages;
  const int64_t* key_limits;
  float *partial_out, *partial_log;
  float scale_log2;  // of the scores, times log2(e)
  int heads, kv_heads;
};

// Where sixteen bytes of a key's row lie in shared memory: rotated so that neither the copies nor the moves
// of matrices meet in a bank.
template <int kHeadDim>
__device__ inline unsigned place_of(unsigned step, int key, int chunk) {
  constexpr int kChunks = kHeadDim / 8;
  return step + static_cast<unsigned>((key * kChunks + (chunk ^ (key & 7))) * 16);
}

// Starts the copies of a step's keys and values.
template <int kHeadDim>
__device__ inline void fetch_step(const AttentionArguments& a, const AttentionTile& tile, int kv_head,
                                  int first_key, unsigned keys, unsigned values) {
  constexpr int kChunks = kHeadDim / 8;
  for (int i = threadIdx.x; i < kStepKeys * kChunks; i += kAttentionThreads) {
    const int key = i / kChunks, chunk = i % kChunks, at = first_key + key;
    const bool wanted = at < tile.end_key;
    int64_t row = 0;
    if (wanted) row = int64_t{a.pages[tile.first_page + at / kPageTokens]} * kPageTokens + at % kPageTokens;
    const __nv_bfloat16* from = a.pool + (row * 2 * a.kv_heads + kv_head) * kHeadDim + chunk * 8;
    copy_async(place_of<kHeadDim>(keys, key, chunk), from, wanted);
    copy_async(place_of<kHeadDim>(values, key, chunk), from + a.kv_heads * kHeadDim, wanted);
  }
}

// What one warp knows of its sixteen rows while it goes over its keys. A thread has two of the rows, eight
// apart: elements 0 and 1 of a product are of the first, 2 and 3 of the second.
template <int kHeadDim>
struct WarpRows {
  unsigned q[kHeadDim / 16][4];
  float out[kHeadDim / 8][4];  // not divided by `sum` yet
  float best[2], sum[2];       // of the scores to the base of 2; `sum` of this thread's keys alone
  int limit[2];                // keys of the list below it are seen
};

template <int kHeadDim>
__device__ inline void begin_rows(const AttentionArguments& a, const AttentionTile& tile, int kv_head,
                                  int first_row, WarpRows<kHeadDim>& rows) {
  const int lane = threadIdx.x % kWarp, group = a.heads / a.kv_heads;
  for (int half = 0; half < 2; ++half) {
    const int packed = first_row + lane / 4 + 8 * half;
    const bool used = packed < tile.rows * group;
    const int row = tile.first_row + (used ? packed / group : 0);
    const auto* const q = reinterpret_cast<const unsigned*>(
        a.q +
        (static_cast<int64_t>(row) * a.heads + kv_head * group + (used ? packed % group : 0)) * kHeadDim);
#pragma unroll
    for (int k = 0; k < kHeadDim / 16; ++k) {
      rows.q[k][half] = q[k * 8 + lane % 4];
      rows.q[k][half + 2] = q[k * 8 + 4 + lane % 4];
    }
    rows.limit[half] = used ? min(static_cast<int>(a.key_limits[row]) - tile.base, tile.end_key) : 0;
    rows.best[half] = kNever;
    rows.sum[half] = 0;
  }
#pragma unroll
  for (int n = 0; n < kHeadDim / 8; ++n)
    for (int i = 0; i < 4; ++i) rows.out[n][i] = 0;
}

// One step: kKeys keys from `offset` on, of the step that begins at first_key.
template <int kHeadDim, int kKeys>
__device__ inline void attend_step(const AttentionArguments& a, WarpRows<kHeadDim>& rows, int first_key,
                                   int offset, unsigned keys, unsigned values) {
  const int lane = threadIdx.x % kWarp, matrix = lane / 8;
  float score[kKeys / 8][4] = {};
#pragma unroll
  for (int k = 0; k < kHeadDim / 16; ++k) {
#pragma unroll
    for (int n = 0; n < kKeys / 16; ++n) {
      unsigned b[4];  // two times eight keys, each with two times eight dimensions
      load_matrices(
          place_of<kHeadDim>(keys, offset + n * 16 + (matrix / 2) * 8 + lane % 8, k * 2 + matrix % 2), b);
      multiply_add(score[2 * n], rows.q[k], b[0], b[1]);
      multiply_add(score[2 * n + 1], rows.q[k], b[2], b[3]);
    }
  }
  float best[2] = {rows.best[0], rows.best[1]};
#pragma unroll
  for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = first_key + offset + n * 8 + (lane % 4) * 2 + i % 2;
      score[n][i] = key < rows.limit[i / 2] ? score[n][i] * a.scale_log2 : kNever;
      best[i / 2] = fmaxf(best[i / 2], score[n][i]);
    }
  }
  float shrink[2], origin[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    best[half] = fmaxf(best[half], __shfl_xor_sync(kAllLanes, best[half], 1));
    best[half] = fmaxf(best[half], __shfl_xor_sync(kAllLanes, best[half], 2));
    origin[half] = best[half] == kNever ? 0.0f : best[half];  // no key seen so far
    shrink[half] = exp2f(rows.best[half] - origin[half]);
    rows.best[half] = best[half];
    rows.sum[half] *= shrink[half];
  }
#pragma unroll
  for (int n = 0; n < kHeadDim / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) rows.out[n][i] *= shrink[i / 2];
#pragma unroll
  for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      score[n][i] = exp2f(score[n][i] - origin[i / 2]);
      rows.sum[i / 2] += score[n][i];
    }
#pragma unroll
  for (int k = 0; k < kKeys / 16; ++k) {
    const unsigned weights[4] = {pack_pair(score[2 * k][0], score[2 * k][1]),
                                 pack_pair(score[2 * k][2], score[2 * k][3]),
                                 pack_pair(score[2 * k + 1][0], score[2 * k + 1][1]),
                                 pack_pair(score[2 * k + 1][2], score[2 * k + 1][3])};
#pragma unroll
    for (int n = 0; n < kHeadDim / 16; ++n) {
      unsigned b[4];  // two times eight dimensions, each with two times eight keys
      load_matrices_transposed(
          place_of<kHeadDim>(values, offset + k * 16 + (matrix % 2) * 8 + lane % 8, n * 2 + matrix / 2), b);
      multiply_add(rows.out[2 * n], weights, b[0], b[1]);
      multiply_add(rows.out[2 * n + 1], weights, b[2], b[3]);
    }
  }
}

// Joins what the warps found for the same rows, and writes it. Shared memory holds the steps no longer.
template <int kHeadDim, int kRowWarps>
__device__ inline void end_tile(const AttentionArguments& a, const AttentionTile& tile, int kv_head,
                                const WarpRows<kHeadDim>& rows, float* shared) {
  constexpr int kKeyWarps = kAttentionWarps / kRowWarps;
  __shared__ float best_of[kTileRows], sum_of[kTileRows];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, group = a.heads / a.kv_heads;
  for (int half = 0; half < 2; ++half) {
    float sum = rows.sum[half];
    sum += __shfl_xor_sync(kAllLanes, sum, 1);
    sum += __shfl_xor_sync(kAllLanes, sum, 2);
    const int slot = warp * kMmaRows + lane / 4 + 8 * half;
    if (lane % 4 == 0) {
      best_of[slot] = rows.best[half];
      sum_of[slot] = sum;
    }
#pragma unroll
    for (int n = 0; n < kHeadDim / 8; ++n)
      *reinterpret_cast<float2*>(shared + slot * kHeadDim + n * 8 + (lane % 4) * 2) =
          make_float2(rows.out[n][2 * half], rows.out[n][2 * half + 1]);
  }
  __syncthreads();
  const int used = tile.rows * group;
  for (int packed = warp; packed < used; packed += kAttentionWarps) {
    // Warps [0, kRowWarps) have the first part of the keys, and so on.
    float best = kNever;
    for (int part = 0; part < kKeyWarps; ++part)
      best = fmaxf(best, best_of[part * kRowWarps * kMmaRows + packed]);
    const float origin = best == kNever ? 0.0f : best;
    float sum = 0, weight[kKeyWarps];
    for (int part = 0; part < kKeyWarps; ++part) {
      const int slot = part * kRowWarps * kMmaRows + packed;
      weight[part] = exp2f(best_of[slot] - origin);
      sum += weight[part] * sum_of[slot];
    }
    const float inverse = sum > 0 ? 1.0f / sum : 0.0f;
    const int64_t at =
        (int64_t{tile.first_share} + packed / group) * a.heads + kv_head * group + packed % group;
    for (int d = lane; d < kHeadDim; d += kWarp) {
      float x = 0;
      for (int part = 0; part < kKeyWarps; ++part)
        x += weight[part] * shared[(part * kRowWarps * kMmaRows + packed) * kHeadDim + d];
      a.partial_out[at * kHeadDim + d] = x * inverse;
    }
    if (lane == 0) a.partial_log[at] = sum > 0 ? origin + log2f(sum) : kNever;
  }
  __syncthreads();
}

template <int kHeadDim, int kRowWarps>
__device__ inline void attend_tile(const AttentionArguments& a, const AttentionTile& tile, int kv_head,
                                   unsigned char* shared) {
  constexpr int kKeys = kStepKeys * kRowWarps / kAttentionWarps;  // of a warp in a step
  constexpr unsigned kStep = kStepBytes<kHeadDim>;
  const int warp = threadIdx.x / kWarp;
  const unsigned memory = shared_address(shared);
  const auto keys_of = [&](int step) { return memory + static_cast<unsigned>(step % kStages) * 2 * kStep; };
  const int steps = (tile.end_key - tile.first_key + kStepKeys - 1) / kStepKeys;
  fetch_step<kHeadDim>(a, tile, kv_head, tile.first_key, keys_of(0), keys_of(0) + kStep);
  close_copies();
  WarpRows<kHeadDim> rows;
  begin_rows<kHeadDim>(a, tile, kv_head, (warp % kRowWarps) * kMmaRows, rows);
  for (int step = 0; step < steps; ++step) {
    const int first_key = tile.first_key + step * kStepKeys;
    if (step + 1 < steps)
      fetch_step<kHeadDim>(a, tile, kv_head, first_key + kStepKeys, keys_of(step + 1),
                           keys_of(step + 1) + kStep);
    close_copies();  // an empty group behind the last step
    wait_for_copies<1>();
    __syncthreads();
    attend_step<kHeadDim, kKeys>(a, rows, first_key, warp / kRowWarps * kKeys, keys_of(step),
                                 keys_of(step) + kStep);
    __syncthreads();
  }
  wait_for_copies<0>();
  end_tile<kHeadDim, kRowWarps>(a, tile, kv_head, rows, reinterpret_cast<float*>(shared));
}

// Each block takes every gridDim.x-th pair of a tile and a key head.
template <int kHeadDim>
__global__ void __launch_bounds__(kAttentionThreads, 3) attend_tiles(const AttentionArguments a) {
  extern __shared__ __align__(128) unsigned char shared[];
  const int tasks = *a.tile_count * a.kv_heads, group = a.heads / a.kv_heads;
  for (int task = blockIdx.x; task < tasks; task += gridDim.x) {
    const AttentionTile tile = a.tiles[task / a.kv_heads];
    const int kv_head = task % a.kv_heads, used = tile.rows * group;
    if (used <= kMmaRows)
      attend_tile<kHeadDim, 1>(a, tile, kv_head, shared);
    else if (used <= 2 * kMmaRows)
      attend_tile<kHeadDim, 2>(a, tile, kv_head, shared);
    else
      attend_tile<kHeadDim, 4>(a, tile, kv_head, shared);
  }
}

// One warp for each head of a row.
template <int kHeadDim>
__global__ void __launch_bounds__(kAttentionThreads)
    join_shares(const int32_t* first_share, const int32_t* shares, const int32_t* count,
                const float* partial_out, const float* partial_log, __nv_bfloat16* out, int rows, int heads) {
  const int lane = threadIdx.x % kWarp;
  const int task = (blockIdx.x * kAttentionThreads + threadIdx.x) / kWarp;
  const int row = task / heads, head = task % heads;
  if (row >= rows || row >= *count) return;
  const int first = first_share[row], end = first_share[row + 1];
  float best = kNever;
  for (int i = first; i < end; ++i) best = fmaxf(best, partial_log[int64_t{shares[i]} * heads + head]);
  float sum = 0, x[kHeadDim / kWarp] = {};
  for (int i = first; i < end; ++i) {
    const int64_t at = int64_t{shares[i]} * heads + head;
    const float weight = exp2f(partial_log[at] - best);
    sum += weight;
    for (int j = 0; j < kHeadDim / kWarp; ++j) x[j] += weight * partial_out[at * kHeadDim + lane + j * kWarp];
  }
  for (int j = 0; j < kHeadDim / kWarp; ++j)
    out[(int64_t{row} * heads + head) * kHeadDim + lane + j * kWarp] = __float2bfloat16_rn(x[j] / sum);
}

}  // namespace bicrl::gpu
