// The gradients of keys and values in the portable form: a block of four warps has half a tile of keys, and
// goes over the runs that see it. Products have keys as rows, so that weights and gradients of scores are
// factors of the next products as they are.
#pragma once
#include "policy/gpu/pack_attention/pack_key_walk.cuh"
#include "policy/gpu/pack_attention/pack_portable.cuh"

namespace bicrl::gpu {

// A run's queries and gradients into one of two places.
template <int kHeadDim>
__device__ inline void copy_step(const PackArguments& a, unsigned to, const QueryRun& run, int kv_head) {
  copy_run<kHeadDim>(a, to, a.q, a.q_stride, run, kv_head);
  copy_run<kHeadDim>(a, to + kMatrixBytes<kHeadDim>, a.grad_out, int64_t{a.heads} * kHeadDim, run, kv_head);
  close_copies();
}

// Sixteen keys of a warp: their gradients, in bf16 or as a part of a sum.
template <int kHeadDim>
__device__ inline void write_key_rows(const PackArguments& a, const KeyTask& task, const KeyTile& tile,
                                      int first, const float (&grad)[kHeadDim / 8][4], float factor,
                                      bool of_values) {
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int key = first + i * 8 + lane / 4;
    if (key >= tile.rows) continue;
    const int64_t row = tile.first_row + key;
    __nv_bfloat16* const to =
        (of_values ? a.grad_v + row * a.grad_v_stride : a.grad_k + row * a.grad_k_stride) +
        task.kv_head * kHeadDim;
    float* const part = a.parts + ((int64_t{task.part} * 2 + of_values) * kKeyTileRows + key) * kHeadDim;
#pragma unroll
    for (int d = 0; d < kHeadDim / 8; ++d) {
      const int at = d * 8 + lane % 4 * 2;
      const float x = grad[d][i * 2] * factor, y = grad[d][i * 2 + 1] * factor;
      if (task.part < 0)
        *reinterpret_cast<unsigned*>(to + at) = pack_pair(x, y);
      else
        *reinterpret_cast<float2*>(part + at) = make_float2(x, y);
    }
  }
}

// Weights in place of scores, and gradients of scores in place of what grad_out makes of the values.
__device__ inline void differentiate_columns(const PackArguments& a, const QueryRun& run, int kv_head,
                                             float (&score)[kChunkEights][4],
                                             float (&product)[kChunkEights][4]) {
  const int64_t sums = a.sums_of(kv_head, run.first_row);
  const int last = run.rows * a.group - 1;
#pragma unroll
  for (int n = 0; n < kChunkEights; ++n)
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int64_t at = sums + min(static_cast<int>(n * 8 + threadIdx.x % 4 * 2 + j), last);
      const float log_sum = a.log_sums[at], delta = a.deltas[at];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& weight = score[n][i * 2 + j];
        weight = weight_of(a.scale_log2, log_sum, weight);
        product[n][i * 2 + j] = gradient_of_score(weight, delta, product[n][i * 2 + j]);
      }
    }
}

template <int kHeadDim>
__global__ void __launch_bounds__(kPackThreads)
    pack_key_gradients_portable(const __grid_constant__ PackArguments a) {
  extern __shared__ __align__(128) unsigned char shared[];
  const KeyTask task = a.tables.key_tasks[blockIdx.x / 2];
  const KeyTile tile = a.tables.key_tiles[task.tile];
  const int half = blockIdx.x % 2 * kChunkKeys, row = tile.first_row + half, end = tile.first_row + tile.rows;
  if (row >= end) return;
  const unsigned keys = shared_address(shared), values = keys + kMatrixBytes<kHeadDim>;
  const unsigned places = values + kMatrixBytes<kHeadDim>;
  copy_chunk<kHeadDim>(a, keys, row, task.kv_head);
  KeyWalk walk(a.tables, task);
  copy_step<kHeadDim>(a, places, walk.run(), task.kv_head);

  const int lane = threadIdx.x % kWarp, first = threadIdx.x / kWarp * 16;
  const int key_row[2] = {row + first + lane / 4, row + first + lane / 4 + 8};
  float grad_k[kHeadDim / 8][4] = {}, grad_v[kHeadDim / 8][4] = {};
  for (int place = 0; !walk.done(); place ^= 1) {
    const KeyUse use = walk.use();
    const QueryRun run = walk.run();
    const unsigned queries = places + place * 2 * kMatrixBytes<kHeadDim>,
                   grads = queries + kMatrixBytes<kHeadDim>;
    walk.advance();
    if (!walk.done()) {
      copy_step<kHeadDim>(a, places + (place ^ 1) * 2 * kMatrixBytes<kHeadDim>, walk.run(), task.kv_head);
      wait_for_copies<1>();
    } else {
      wait_for_copies<0>();
    }
    __syncthreads();
    const StepKind kind = kind_of_step(a, use, run, row, end);
    if (kind != kUnseen) {
      float score[kChunkEights][4], product[kChunkEights][4];
      multiply_rows_of_warp<kHeadDim>(keys + first * kHeadDim * 2, queries, score);
      multiply_rows_of_warp<kHeadDim>(values + first * kHeadDim * 2, grads, product);
      if (kind == kPartlySeen)
        mask_key_scores(a, use, run, key_row, a.tables.row_limits + run.first_row, score);
      differentiate_columns(a, run, task.kv_head, score, product);
#pragma unroll
      for (int k = 0; k < kRunProductRows / 16; ++k) {
        unsigned factor[4];
        pack_columns(score, k, factor);
        add_product_of_warp<kHeadDim>(factor, grads + k * 16 * kHeadDim * 2, grad_v);
        pack_columns(product, k, factor);
        add_product_of_warp<kHeadDim>(factor, queries + k * 16 * kHeadDim * 2, grad_k);
      }
    }
    __syncthreads();
  }
  write_key_rows<kHeadDim>(a, task, tile, half + first, grad_k, a.scale, false);
  write_key_rows<kHeadDim>(a, task, tile, half + first, grad_v, 1.0f, true);
}

// Adds up the parts of a tile's gradients, in their order: a block has one of them, a thread two dimensions
// of a row at a time.
template <int kHeadDim>
__global__ void __launch_bounds__(kPackThreads) sum_key_parts(const __grid_constant__ PackArguments a) {
  const KeySum sum = a.tables.key_sums[blockIdx.x];
  const KeyTile tile = a.tables.key_tiles[sum.tile];
  const bool of_values = blockIdx.y == 1;
  constexpr int kPairs = kHeadDim / 2;
  for (int i = blockIdx.z * kPackThreads + threadIdx.x; i < tile.rows * kPairs;
       i += gridDim.z * kPackThreads) {
    const int key = i / kPairs, at = i % kPairs * 2;
    const float* part =
        a.parts + ((int64_t{sum.first_part} * 2 + of_values) * kKeyTileRows + key) * kHeadDim + at;
    float2 total = make_float2(0, 0);
    for (int p = 0; p < sum.parts; ++p, part += 2 * kKeyTileRows * kHeadDim) {
      const float2 x = *reinterpret_cast<const float2*>(part);
      total.x += x.x;
      total.y += x.y;
    }
    const int64_t row = tile.first_row + key;
    __nv_bfloat16* const to =
        (of_values ? a.grad_v + row * a.grad_v_stride : a.grad_k + row * a.grad_k_stride) +
        sum.kv_head * kHeadDim;
    *reinterpret_cast<unsigned*>(to + at) = pack_pair(total.x, total.y);
  }
}

}  // namespace bicrl::gpu
