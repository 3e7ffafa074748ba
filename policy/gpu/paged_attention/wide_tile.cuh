// Tiles of many rows of queries (those of a group's shared prompt, of a prompt's own chunk): a warp has up to
// 32 rows of its own and goes over all keys of a step, so that a move of four matrices of keys or values
// feeds four products. Queries are the rows of products here, and weights become a factor of the next product
// where they are. Beside the sums of 32 rows there is no room for queries in registers: they stay in shared
// memory beside the steps (key_stream.cuh), and are moved as often as keys are.
#pragma once
#include "policy/gpu/paged_attention/key_stream.cuh"
#include "policy/gpu/paged_attention/online_softmax.cuh"

namespace bicrl::gpu {

constexpr int kWideKeys = 32;  // at once, as scores of more take too many registers

// Scores of kWideKeys of a step: the queries of the warp's rows are at `queries`, the keys at `keys`.
template <int kHeadDim, int kParts>
__device__ inline void score_rows(unsigned queries, unsigned keys,
                                  float (&score)[kParts][kWideKeys / kMmaWidth][4]) {
  const int lane = threadIdx.x % kWarp, matrix = lane / 8;
  // Two times eight rows of queries, each of two times eight dimensions; of keys it is the other way round,
  // so that the registers of a factor are neighbours. That spares moves.
  const unsigned q_at = further(row_address<kHeadDim>(queries, matrix % 2 * 8 + lane % 8), matrix / 2);
  const unsigned at = further(row_address<kHeadDim>(keys, matrix / 2 * 8 + lane % 8), matrix % 2);
#pragma unroll
  for (int m = 0; m < kParts; ++m)
#pragma unroll
    for (int n = 0; n < kWideKeys / kMmaWidth; ++n)
      for (int i = 0; i < 4; ++i) score[m][n][i] = 0;
#pragma unroll
  for (int k = 0; k < kHeadDim / kMmaDepth; ++k) {
    unsigned q[kParts][4];
#pragma unroll
    for (int m = 0; m < kParts; ++m) load_matrices(further(q_at, 2 * k) + m * kMmaRows * kHeadDim * 2, q[m]);
#pragma unroll
    for (int n = 0; n < kWideKeys / kMmaWidth; n += 2) {
      unsigned its[4];
      load_matrices(further(at, 2 * k) + n * kMmaWidth * kHeadDim * 2, its);
#pragma unroll
      for (int m = 0; m < kParts; ++m) {
        multiply_add(score[m][n], q[m], its[0], its[1]);
        multiply_add(score[m][n + 1], q[m], its[2], its[3]);
      }
    }
  }
}

// Adds the weighted values of the keys that score_rows() took.
template <int kHeadDim, int kParts>
__device__ inline void add_values_of_rows(const float (&weight)[kParts][kWideKeys / kMmaWidth][4],
                                          unsigned values, float (&out)[kParts][kHeadDim / kMmaWidth][4]) {
  const int lane = threadIdx.x % kWarp, matrix = lane / 8;
  // Two times eight dimensions, each of two times eight keys.
  const unsigned at = further(row_address<kHeadDim>(values, matrix % 2 * 8 + lane % 8), matrix / 2);
#pragma unroll
  for (int k = 0; k < kWideKeys / kMmaDepth; ++k) {
    unsigned factor[kParts][4];
#pragma unroll
    for (int m = 0; m < kParts; ++m) pack_weights(weight[m], k, factor[m]);
#pragma unroll
    for (int d = 0; d < kHeadDim / kMmaWidth; d += 2) {
      unsigned its[4];
      load_matrices_transposed(further(at, d) + k * kMmaDepth * kHeadDim * 2, its);
#pragma unroll
      for (int m = 0; m < kParts; ++m) {
        multiply_add(out[m][d], factor[m], its[0], its[1]);
        multiply_add(out[m][d + 1], factor[m], its[2], its[3]);
      }
    }
  }
}

// Writes the shares of a warp's rows, by way of shared memory, as much as its queries are (and where they
// were): of a row four lanes have pairs of dimensions that are eight apart, and memory wants a row's sixteen
// bytes from each of its lanes.
template <int kHeadDim, int kParts>
__device__ inline void write_rows(const AttentionArguments& a, const AttentionTile& tile, int kv_head,
                                  int first, const SoftmaxRows<kHeadDim, kParts>& rows, unsigned queries) {
  constexpr int kChunks = kHeadDim / 8, kPassRows = kWarp / kChunks;
  const int lane = threadIdx.x % kWarp, used = tile.rows * a.group - first;
  float logs[kParts][2];
  __syncwarp();  // its lanes have read them
#pragma unroll
  for (int m = 0; m < kParts; ++m)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const RowEnd end = end_row(a.scale_log2, rows.best[m][i], rows.sum[m][i]);
      logs[m][i] = end.log;
      const unsigned at = row_address<kHeadDim>(queries, m * kMmaRows + i * 8 + lane / 4);
#pragma unroll
      for (int d = 0; d < kHeadDim / kMmaWidth; ++d)
        store_shared(further(at, d) + lane % 4 * 4,
                     pack_pair(rows.out[m][d][i * 2] * end.inverse, rows.out[m][d][i * 2 + 1] * end.inverse));
    }
  __syncwarp();
#pragma unroll
  for (int row = lane / kChunks; row < kParts * kMmaRows; row += kPassRows) {
    if (row >= used) break;
    const int column = first + row;
    const int64_t share = a.place_of(a.share_of(tile, a.row_of(column)), column, kv_head);
    reinterpret_cast<uint4*>(a.partial_out + share * kHeadDim)[lane % kChunks] =
        load_shared(further(row_address<kHeadDim>(queries, row), lane % kChunks));
  }
#pragma unroll
  for (int m = 0; m < kParts; ++m)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = m * kMmaRows + i * 8 + lane / 4, column = first + row;
      if (lane % 4 == 0 && row < used)
        a.partial_log[a.place_of(a.share_of(tile, a.row_of(column)), column, kv_head)] = logs[m][i];
    }
}

// Each warp has kParts times sixteen rows.
template <int kHeadDim, int kParts>
__device__ inline void attend_wide_tile(const AttentionArguments& a, const AttentionTile& tile, int kv_head,
                                        KeyStream<kHeadDim>& stream) {
  const int first = threadIdx.x / kWarp * kParts * kMmaRows;
  const bool busy = first < tile.rows * a.group;
  SoftmaxRows<kHeadDim, kParts> rows;
  begin_rows(a, tile, first, rows);
  const unsigned queries = stream.next_queries() + first * kHeadDim * 2;
  for (int first_key = tile.first_key; first_key < tile.end_key; first_key += kStepKeys) {
    const unsigned keys = stream.next(), values = keys + KeyStream<kHeadDim>::kStepBytes;
    stream.refill();
    if (!busy) continue;
#pragma unroll 1
    for (int some = 0; some < kStepKeys && first_key + some < tile.end_key; some += kWideKeys) {
      const unsigned at = some * kHeadDim * 2;
      float score[kParts][kWideKeys / kMmaWidth][4];
      score_rows<kHeadDim>(queries, keys + at, score);
      weigh_rows(a.scale_log2, first_key + some, rows, score);
      add_values_of_rows<kHeadDim>(score, values + at, rows.out);
    }
  }
  if (busy) write_rows(a, tile, kv_head, first, rows, queries);
  stream.drop_queries();
}

}  // namespace bicrl::gpu
