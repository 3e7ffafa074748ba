// The softmax of a row of logits on the device, a tile of ids at a time: a block for each row.
#pragma once
#include "policy/gpu/head/head_kernels.h"
#include "policy/gpu/pass/pass_elements.cuh"

namespace bicrl::gpu {

constexpr int kHeadThreads = 512;
constexpr int kHeadMoves = kHeadTileIds / (4 * kHeadThreads);  // of four logits, that a thread has of a tile
static_assert(kHeadMoves * 4 * kHeadThreads == kHeadTileIds);
// A reference is raised when a row's largest logit is so far above it: 2^64 times the vocabulary is far from
// fp32's range.
constexpr float kReferenceReach = 64;
constexpr float kLog2e = 1.4426950408889634f, kLn2 = 0.6931471805599453f;

// A thread's logits of a tile, at the temperature and to the base of 2; of ids that are not allowed, or not
// there, minus infinity. Move m is of the four ids from first_id(m) on, counted within the tile.
struct TileLogits {
  float values[kHeadMoves][4];

  __device__ static int first_id(int move) {
    return (move * kHeadThreads + static_cast<int>(threadIdx.x)) * 4;
  }
  // Both arrays begin at a multiple of four ids, and the allowed ones are readable up to the next multiple.
  __device__ void load(const float* logits, const uint8_t* allowed, int ids, float scale) {
#pragma unroll
    for (int m = 0; m < kHeadMoves; ++m) {
      const int id = first_id(m);
      float4 four = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
      if (id < ids) four = *reinterpret_cast<const float4*>(logits + id);
      uchar4 may = {};
      if (id < ids) may = *reinterpret_cast<const uchar4*>(allowed + id);
      values[m][0] = may.x ? four.x * scale : -INFINITY;
      values[m][1] = may.y && id + 1 < ids ? four.y * scale : -INFINITY;
      values[m][2] = may.z && id + 2 < ids ? four.z * scale : -INFINITY;
      values[m][3] = may.w && id + 3 < ids ? four.w * scale : -INFINITY;
    }
  }
};

struct TileArguments {
  const float* logits;
  const uint8_t* allowed;  // of the tile's ids
  const int64_t* labels;
  HeadRowState state;
  __nv_bfloat16* weights;  // from the tile's first id on
  int64_t weights_stride;
  float* tile_reference;
  float scale;
  int first, ids, padded_ids;  // of weights, which are written up to their padding
};

__device__ inline float largest_of_block(float mine, float* shared) {
  mine = max_of_warp(mine);
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = mine;
  __syncthreads();
  float largest = shared[0];
  for (int w = 1; w < kHeadThreads / kWarp; ++w) largest = fmaxf(largest, shared[w]);
  return largest;
}

__global__ void __launch_bounds__(kHeadThreads) head_tile_row(const TileArguments a) {
  __shared__ float shared[kHeadThreads / kWarp];
  __shared__ float2 sums[kHeadThreads / kWarp];
  const int64_t row = blockIdx.x;
  const int label = static_cast<int>(a.labels[row] - a.first);  // within the tile, if it is in it
  const bool is_first = a.first == 0;
  const float best_before = is_first ? -INFINITY : a.state.best[row];
  const float reference_before = is_first ? -INFINITY : a.state.reference[row];
  const float sum_before = is_first ? 0.0f : a.state.sum[row];
  const float moment_before = is_first ? 0.0f : a.state.moment[row];
  TileLogits tile;
  tile.load(a.logits + row * kHeadTileIds, a.allowed, a.ids, a.scale);
  float best = best_before;
#pragma unroll
  for (int m = 0; m < kHeadMoves; ++m)
    best = fmaxf(best, fmaxf(fmaxf(tile.values[m][0], tile.values[m][1]),
                             fmaxf(tile.values[m][2], tile.values[m][3])));
  best = largest_of_block(best, shared);
  const float reference = best - reference_before > kReferenceReach ? best : reference_before;
  // Without an allowed id so far there is nothing to weigh.
  const float origin = reference == -INFINITY ? 0.0f : reference;
  float2 mine = {0, 0};
#pragma unroll
  for (int m = 0; m < kHeadMoves; ++m) {
    const int id = TileLogits::first_id(m);
    struct alignas(8) {
      __nv_bfloat16 values[4];
    } kept;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float x = tile.values[m][i] - origin;
      const float weight = exp2f(x);
      mine.x += weight;
      if (weight > 0) mine.y += weight * x;
      const bool is_label = id + i == label;
      if (is_label) a.state.label[row] = tile.values[m][i];
      narrow(is_label ? 0.0f : weight, kept.values[i]);
    }
    if (a.weights && id < a.padded_ids)
      *reinterpret_cast<decltype(kept)*>(a.weights + row * a.weights_stride + id) = kept;
  }
  mine.x = sum_of_warp(mine.x);
  mine.y = sum_of_warp(mine.y);
  if (threadIdx.x % kWarp == 0) sums[threadIdx.x / kWarp] = mine;
  __syncthreads();
  if (threadIdx.x > 0) return;
  // What came before, seen from the new reference: a weight w (x) becomes w f (x + log2 f).
  const float moved = reference_before == -INFINITY ? 0.0f : reference_before - origin;
  float2 total = {sum_before * exp2f(moved), (moment_before + sum_before * moved) * exp2f(moved)};
  for (int w = 0; w < kHeadThreads / kWarp; ++w) {
    total.x += sums[w].x;
    total.y += sums[w].y;
  }
  a.state.best[row] = best;
  a.state.reference[row] = reference;
  a.state.sum[row] = total.x;
  a.state.moment[row] = total.y;
  if (a.tile_reference) a.tile_reference[row] = reference;
}

struct RowsArguments {
  HeadRowState state;
  float *log_prob, *entropy;
  __nv_bfloat16* weights;
  int64_t weights_stride;
  const float* tile_reference;
  int64_t tile_reference_stride;
  const int64_t* row_index;
  FaultRecord fault;
  int tiles, vocab;
};

__global__ void __launch_bounds__(kPassThreads) head_row(const RowsArguments a) {
  const int64_t row = blockIdx.x;
  const float reference = a.state.reference[row], sum = a.state.sum[row];
  if (threadIdx.x == 0) {
    const float log_sum = log2f(sum);
    const float log_prob = (a.state.label[row] - reference - log_sum) * kLn2;
    a.log_prob[row] = log_prob;
    a.entropy[row] = (log_sum - a.state.moment[row] / sum) * kLn2;
    note_fault(a.fault, a.row_index ? a.row_index[row] : row, log_prob);
  }
  if (!a.weights) return;
  for (int tile = 0; tile < a.tiles; ++tile) {
    const float of_tile = a.tile_reference[tile * a.tile_reference_stride + row];
    if (of_tile == reference || of_tile == -INFINITY) continue;
    const float factor = exp2f(of_tile - reference);
    const int end = min((tile + 1) * static_cast<int>(kHeadTileIds), a.vocab);
    for (int id = tile * static_cast<int>(kHeadTileIds) + static_cast<int>(threadIdx.x); id < end;
         id += kPassThreads) {
      __nv_bfloat16& weight = a.weights[row * a.weights_stride + id];
      narrow(widen(weight) * factor, weight);
    }
  }
}

}  // namespace bicrl::gpu
