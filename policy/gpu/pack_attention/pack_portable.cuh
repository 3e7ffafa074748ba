// Attention to packs in its portable form: four warps take a run of query rows, or half a tile of keys, and
// multiply matrices of 64 rows that lie in shared memory as rotated rows. What the next step reads is copied
// while this one is computed.
#pragma once
#include "policy/gpu/pack_attention/pack_gradients.cuh"
#include "policy/gpu/products/warp_products.cuh"

namespace bicrl::gpu {

constexpr int kPackThreads = 128;
constexpr int kMatrixRows = 64;

template <int kHeadDim>
constexpr unsigned kMatrixBytes = kMatrixRows* kHeadDim * 2;

// Copies 64 rows, of which row r < count begins at first + r * stride, and zeros behind them.
template <int kHeadDim>
__device__ inline void copy_keys(unsigned to, const __nv_bfloat16* first, int64_t stride, int count) {
  constexpr int kChunks = kHeadDim / 8;
  const int chunk = threadIdx.x % kChunks;
#pragma unroll
  for (int r = threadIdx.x / kChunks; r < kMatrixRows; r += kPackThreads / kChunks)
    copy_async(further(row_address<kHeadDim>(to, r), chunk), first + (r < count ? r * stride + chunk * 8 : 0),
               r < count);
}

// Likewise the product rows of a run, from [rows, heads, kHeadDim] with rows `stride` apart.
template <int kHeadDim>
__device__ inline void copy_run(const PackArguments& a, unsigned to, const __nv_bfloat16* first,
                                int64_t stride, const QueryRun& run, int kv_head) {
  constexpr int kChunks = kHeadDim / 8;
  const int chunk = threadIdx.x % kChunks, count = run.rows * a.group;
#pragma unroll
  for (int r = threadIdx.x / kChunks; r < kMatrixRows; r += kPackThreads / kChunks) {
    const int row = run.first_row + a.row_in_run(r);
    copy_async(further(row_address<kHeadDim>(to, r), chunk),
               first + (r < count ? row * stride + a.head_of(r, kv_head) * kHeadDim + chunk * 8 : 0),
               r < count);
  }
}

// What the rows of a run see of one chunk of keys after the other: its context's, then its own blocks'.
struct RunChunks {
  QueryTile tile;
  int context, own_row;  // chunks of the context; where the chunk of its own blocks begins
  int count;

  __device__ RunChunks(const PackArguments& a, const QueryTile& its, const QueryRun& run) : tile(its) {
    context = chunks_of_context(tile, run.largest_limit);
    const int tile_row = own_chunks_begin(a.tables.runs[tile.first_run].first_row, a.block_size);
    own_row = tile_row + (run.first_row - tile_row) / kChunkKeys * kChunkKeys;
    count = context + (run.first_row + run.rows > tile.noisy_begin ? 1 : 0);
  }
  __device__ int row(int i) const { return i < context ? context_chunk(tile, i).row : own_row; }
  __device__ SeenColumns seen(int i, int row, int limit, int block_size) const {
    return i < context ? seen_of_context(context_chunk(tile, i), limit)
                       : seen_of_own_block(own_row, row, tile.noisy_begin, block_size);
  }
  // Whether some of the run's rows do not see all of it.
  __device__ bool is_cut(int i, const QueryRun& run) const {
    if (i >= context) return true;
    const KeyChunk chunk = context_chunk(tile, i);
    return min(run.least_limit, chunk.end) < chunk.position + kChunkKeys;
  }
};

// Keys and values on their way into one of two places.
template <int kHeadDim>
__device__ inline void copy_chunk(const PackArguments& a, unsigned to, int row, int kv_head) {
  const int count = a.rows - row;
  copy_keys<kHeadDim>(to, a.k + row * a.k_stride + kv_head * kHeadDim, a.k_stride, count);
  copy_keys<kHeadDim>(to + kMatrixBytes<kHeadDim>, a.v + row * a.v_stride + kv_head * kHeadDim, a.v_stride,
                      count);
  close_copies();
}

// Which run of a task a block has; none if `tile.runs` is not larger than `half`.
struct RunTask {
  QueryTask task;
  QueryTile tile;
  int half;
  __device__ explicit RunTask(const PackArguments& a)
      : task(a.tables.query_tasks[blockIdx.x / 2]),
        tile(a.tables.query_tiles[task.tile]),
        half(blockIdx.x % 2) {}
};

// A thread's pairs of neighbouring dimensions of two product rows, times `factor`, in bf16.
template <int kHeadDim>
__device__ inline void write_run_rows(const PackArguments& a, const QueryRun& run, const ThreadRows& rows,
                                      int kv_head, const float (&x)[kHeadDim / 8][4],
                                      const float (&factor)[2], __nv_bfloat16* to, int64_t stride) {
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (rows.product_row[i] >= run.rows * a.group) continue;
    auto* const first = reinterpret_cast<unsigned*>(to + rows.row[i] * stride +
                                                    a.head_of(rows.product_row[i], kv_head) * kHeadDim);
#pragma unroll
    for (int d = 0; d < kHeadDim / 8; ++d)
      first[d * 4 + lane % 4] = pack_pair(x[d][i * 2] * factor[i], x[d][i * 2 + 1] * factor[i]);
  }
}

template <int kHeadDim>
__global__ void __launch_bounds__(kPackThreads)
    pack_forward_portable(const __grid_constant__ PackArguments a) {
  extern __shared__ __align__(128) unsigned char shared[];
  const RunTask work(a);
  if (work.half >= work.tile.runs) return;
  const QueryRun run = a.tables.runs[work.tile.first_run + work.half];
  const int kv_head = work.task.kv_head;
  const RunChunks chunks(a, work.tile, run);
  const unsigned queries = shared_address(shared), places = queries + kMatrixBytes<kHeadDim>;
  copy_run<kHeadDim>(a, queries, a.q, a.q_stride, run, kv_head);
  copy_chunk<kHeadDim>(a, places, chunks.row(0), kv_head);

  const int first = threadIdx.x / kWarp * 16;
  const ThreadRows rows(a, run, first);
  const int limit[2] = {a.tables.row_limits[rows.row[0]], a.tables.row_limits[rows.row[1]]};
  RowSums sums;
  float out[kHeadDim / 8][4] = {};
  for (int i = 0; i < chunks.count; ++i) {
    const unsigned keys = places + i % 2 * 2 * kMatrixBytes<kHeadDim>, values = keys + kMatrixBytes<kHeadDim>;
    if (i + 1 < chunks.count) {
      copy_chunk<kHeadDim>(a, places + (i + 1) % 2 * 2 * kMatrixBytes<kHeadDim>, chunks.row(i + 1), kv_head);
      wait_for_copies<1>();
    } else {
      wait_for_copies<0>();
    }
    __syncthreads();
    float score[kChunkEights][4], shrink[2];
    multiply_rows_of_warp<kHeadDim>(queries + first * kHeadDim * 2, keys, score);
    if (chunks.is_cut(i, run)) {
      const SeenColumns seen[2] = {chunks.seen(i, rows.row[0], limit[0], a.block_size),
                                   chunks.seen(i, rows.row[1], limit[1], a.block_size)};
      mask_scores(seen, score);
    }
    if (weigh_scores(a.scale_log2, sums, score, shrink)) shrink_sums(shrink, out);
#pragma unroll
    for (int k = 0; k < kChunkKeys / 16; ++k) {
      unsigned weights[4];
      pack_columns(score, k, weights);
      add_product_of_warp<kHeadDim>(weights, values + k * 16 * kHeadDim * 2, out);
    }
    __syncthreads();  // the next copies come here
  }
  float inverse[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const RowResult end = end_row(sums, i);
    inverse[i] = end.inverse;
    if (threadIdx.x % 4 == 0 && rows.product_row[i] < run.rows * a.group)
      a.log_sums[a.sums_of(kv_head, run.first_row) + rows.product_row[i]] = end.log_sum;
  }
  write_run_rows<kHeadDim>(a, run, rows, kv_head, out, inverse, a.out, int64_t{a.heads} * kHeadDim);
}

template <int kHeadDim>
__global__ void __launch_bounds__(kPackThreads)
    pack_query_gradients_portable(const __grid_constant__ PackArguments a) {
  extern __shared__ __align__(128) unsigned char shared[];
  const RunTask work(a);
  if (work.half >= work.tile.runs) return;
  const QueryRun run = a.tables.runs[work.tile.first_run + work.half];
  const int kv_head = work.task.kv_head;
  const RunChunks chunks(a, work.tile, run);
  const unsigned queries = shared_address(shared), grads = queries + kMatrixBytes<kHeadDim>;
  const unsigned places = grads + kMatrixBytes<kHeadDim>;
  copy_run<kHeadDim>(a, queries, a.q, a.q_stride, run, kv_head);
  copy_run<kHeadDim>(a, grads, a.grad_out, int64_t{a.heads} * kHeadDim, run, kv_head);
  copy_chunk<kHeadDim>(a, places, chunks.row(0), kv_head);

  const int first = threadIdx.x / kWarp * 16;
  const ThreadRows rows(a, run, first);
  const int limit[2] = {a.tables.row_limits[rows.row[0]], a.tables.row_limits[rows.row[1]]};
  float log_sum[2], delta[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    // Behind the run's last row that of another, which nobody writes.
    const int product_row = min(rows.product_row[i], run.rows * a.group - 1);
    const int64_t at = a.sums_of(kv_head, run.first_row) + product_row;
    log_sum[i] = a.log_sums[at];
    delta[i] = delta_of<kHeadDim>(a, rows.row[i], a.head_of(product_row, kv_head));
    if (threadIdx.x % 4 == 0 && rows.product_row[i] == product_row) a.deltas[at] = delta[i];
  }
  float grad[kHeadDim / 8][4] = {};
  for (int i = 0; i < chunks.count; ++i) {
    const unsigned keys = places + i % 2 * 2 * kMatrixBytes<kHeadDim>, values = keys + kMatrixBytes<kHeadDim>;
    if (i + 1 < chunks.count) {
      copy_chunk<kHeadDim>(a, places + (i + 1) % 2 * 2 * kMatrixBytes<kHeadDim>, chunks.row(i + 1), kv_head);
      wait_for_copies<1>();
    } else {
      wait_for_copies<0>();
    }
    __syncthreads();
    float score[kChunkEights][4], product[kChunkEights][4];
    multiply_rows_of_warp<kHeadDim>(queries + first * kHeadDim * 2, keys, score);
    multiply_rows_of_warp<kHeadDim>(grads + first * kHeadDim * 2, values, product);
    if (chunks.is_cut(i, run)) {
      const SeenColumns seen[2] = {chunks.seen(i, rows.row[0], limit[0], a.block_size),
                                   chunks.seen(i, rows.row[1], limit[1], a.block_size)};
      mask_scores(seen, score);
    }
    differentiate_rows(a.scale_log2, log_sum, delta, score, product);
#pragma unroll
    for (int k = 0; k < kChunkKeys / 16; ++k) {
      unsigned factor[4];
      pack_columns(product, k, factor);
      add_product_of_warp<kHeadDim>(factor, keys + k * 16 * kHeadDim * 2, grad);
    }
    __syncthreads();
  }
  const float scale[2] = {a.scale, a.scale};
  write_run_rows<kHeadDim>(a, run, rows, kv_head, grad, scale, a.grad_q, a.grad_q_stride);
}

}  // namespace bicrl::gpu
