// Tiles for one warp: a few rows of queries against keys that hardly anybody else reads, a sequence's own.
// Such a tile is as short as its sequence is new, and bound by how long its loads take. So each warp goes by
// itself, without shared memory and without a barrier, and loads keys and values to where products want them,
// sixteen bytes at a time. Products ask for pairs of neighbours among dimensions (of keys) and among keys (of
// values): which dimension is which does not matter to a sum over them as long as queries agree, and pairs of
// keys are made from two loads. A page's keys are sixteen, the depth of a product; those of the next page are
// under way while one is computed.
#pragma once
#include "policy/gpu/paged_attention/attention_arguments.cuh"
#include "policy/gpu/paged_attention/online_softmax.cuh"

namespace bicrl::gpu {

constexpr int kWarpColumns = 16;  // at most

// One per thread of a warp. Of the sixteen rows of a product a thread has two, eight apart, of which lanes
// with the same lane / 4 share one each; of its sixteen keys two neighbours and those eight further.
template <int kHeadDim>
class WarpTile {
 public:
  __device__ WarpTile(const AttentionArguments& a, const AttentionTile& tile, int kv_head)
      : a_(a), tile_(tile), kv_head_(kv_head), pages_((tile.end_key - tile.first_key - 1) / kPageTokens + 1) {
    begin_rows(a, tile_, 0, rows_);
    load_queries();
  }

  __device__ void attend() {
    load_page_numbers(0);
    load_keys(0);
    load_values(0);
    for (int page = 0; page < pages_; ++page) {
      float score[1][2][4];
      score_page(score[0]);
      if (page + 1 < pages_) {
        if ((page + 1) % kWarp == 0) load_page_numbers(page + 1);
        load_keys(page + 1);
      }
      weigh_rows(a_.scale_log2, tile_.first_key + page * kPageTokens, rows_, score);
      add_values(score[0]);
      if (page + 1 < pages_) load_values(page + 1);
    }
    write();
  }

 private:
  static constexpr int kQuarters = kHeadDim / 32;  // sixteen bytes for each of four lanes
  static constexpr int kEighths = kHeadDim / 64;   // sixteen bytes for each of eight lanes

  __device__ int row() const { return threadIdx.x % kWarp / 4; }
  __device__ int quarter() const { return threadIdx.x % 4; }
  __device__ bool has(int half) const { return row() + 8 * half < tile_.rows * a_.group; }

  __device__ void load_queries() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int column = has(half) ? row() + 8 * half : 0;
      const int in_tile = a_.row_of(column);
      share_[half] = a_.share_of(tile_, in_tile);
      const auto* const q = reinterpret_cast<const uint4*>(
          a_.q + a_.place_of(tile_.first_row + in_tile, column, kv_head_) * kHeadDim);
#pragma unroll
      for (int c = 0; c < kQuarters; ++c) {
        // A row behind the last one is zero; nobody looks at it.
        const uint4 x = has(half) ? q[c * 4 + quarter()] : make_uint4(0, 0, 0, 0);
        q_[2 * c][half] = x.x;
        q_[2 * c][2 + half] = x.y;
        q_[2 * c + 1][half] = x.z;
        q_[2 * c + 1][2 + half] = x.w;
      }
    }
  }

  // Of the pages from `first` on, one a lane.
  __device__ void load_page_numbers(int first) {
    const int page = first + threadIdx.x % kWarp;
    const int32_t* const numbers = a_.pages + tile_.first_page + tile_.first_key / kPageTokens;
    number_ = page < pages_ ? numbers[page] : 0;
  }
  // Its first key in the pool.
  __device__ const __nv_bfloat16* page_at(int page) const {
    const int64_t number = __shfl_sync(kAllLanes, number_, page % kWarp);
    return a_.pool + (number * kPageTokens * 2 * a_.kv_heads + kv_head_) * kHeadDim;
  }

  __device__ void load_keys(int page) {
    const __nv_bfloat16* const first = page_at(page);
    const int stride = 2 * a_.kv_heads * kHeadDim;
#pragma unroll
    for (int n = 0; n < 2; ++n)
#pragma unroll
      for (int c = 0; c < kQuarters; ++c)
        keys_[n][c] = load_once(first + (n * 8 + row()) * stride + c * 32 + quarter() * 8);
  }

  __device__ void load_values(int page) {
    const __nv_bfloat16* const first = page_at(page) + a_.kv_heads * kHeadDim;
    const int stride = 2 * a_.kv_heads * kHeadDim,
              left = tile_.end_key - tile_.first_key - page * kPageTokens;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = quarter() * 2 + i % 2 + i / 2 * 8;
#pragma unroll
      for (int h = 0; h < kEighths; ++h)
        // What lies behind the last key may be no number.
        values_[i][h] =
            key < left ? load_once(first + key * stride + h * 64 + row() * 8) : make_uint4(0, 0, 0, 0);
    }
  }

  __device__ void score_page(float (&score)[2][4]) const {
#pragma unroll
    for (int n = 0; n < 2; ++n)
      for (int i = 0; i < 4; ++i) score[n][i] = 0;
#pragma unroll
    for (int c = 0; c < kQuarters; ++c)
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        multiply_add(score[n], q_[2 * c], keys_[n][c].x, keys_[n][c].y);
        multiply_add(score[n], q_[2 * c + 1], keys_[n][c].z, keys_[n][c].w);
      }
  }

  // Dimension j of each lane's eight is one of a product's eight columns.
  __device__ void add_values(const float (&weight)[2][4]) {
    unsigned factor[4];
    pack_weights(weight, 0, factor);
#pragma unroll
    for (int h = 0; h < kEighths; ++h) {
      add_pair(factor, h, 0, &uint4::x);
      add_pair(factor, h, 2, &uint4::y);
      add_pair(factor, h, 4, &uint4::z);
      add_pair(factor, h, 6, &uint4::w);
    }
  }
  __device__ void add_pair(const unsigned (&factor)[4], int h, int j, unsigned uint4::*word) {
    const unsigned v0 = values_[0][h].*word, v1 = values_[1][h].*word, v2 = values_[2][h].*word,
                   v3 = values_[3][h].*word;
    multiply_add(rows_.out[0][h * 8 + j], factor, lower_halves(v0, v1), lower_halves(v2, v3));
    multiply_add(rows_.out[0][h * 8 + j + 1], factor, upper_halves(v0, v1), upper_halves(v2, v3));
  }

  // A lane has sixteen dimensions of each 64, side by side.
  __device__ void write() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const RowEnd end = end_row(a_.scale_log2, rows_.best[0][half], rows_.sum[0][half]);
      if (!has(half)) continue;
      const int64_t place = a_.place_of(share_[half], row() + 8 * half, kv_head_);
      auto* const to = reinterpret_cast<uint4*>(a_.partial_out + place * kHeadDim) + quarter() * 2;
#pragma unroll
      for (int h = 0; h < kEighths; ++h)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          unsigned pairs[4];
#pragma unroll
          for (int j = 0; j < 4; ++j)
            pairs[j] = pack_pair(rows_.out[0][h * 8 + 2 * j][half * 2 + i] * end.inverse,
                                 rows_.out[0][h * 8 + 2 * j + 1][half * 2 + i] * end.inverse);
          to[h * 8 + i] = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
        }
      if (quarter() == 0) a_.partial_log[place] = end.log;
    }
  }

  const AttentionArguments& a_;
  const AttentionTile tile_;
  const int kv_head_, pages_;
  unsigned q_[kHeadDim / 16][4];
  uint4 keys_[2][kQuarters], values_[4][kEighths];
  SoftmaxRows<kHeadDim, 1> rows_;
  int share_[2];    // rows of partial_out
  int number_ = 0;  // of the pages under way, one a lane
};

// The tasks for warps, pairs of a tile and a key head, the costliest first. If the blocks without a wide task
// have a warp for each, they go round these blocks, so that few are spread over many processors. Else to all
// warps, those of the last blocks first, which are without one: two tasks of one warp then delay its block
// alone, and not one of each.
template <int kHeadDim>
__device__ inline void attend_warp_tiles(const AttentionArguments& a) {
  const int wide = a.counts[0], tasks = (a.counts[1] - wide) * a.kv_heads, blocks = gridDim.x;
  const int idle = blocks - min(blocks, wide * a.kv_heads);
  const int block = blocks - 1 - blockIdx.x, warp = threadIdx.x / kWarp;
  const bool few = tasks <= kAttentionWarps * idle;
  if (few && block >= idle) return;
  const int hand = few ? warp * idle + block : block * kAttentionWarps + warp;
  const int hands = kAttentionWarps * (few ? idle : blocks);
  for (int round = 0, task = 0; (task = dealt(round, hand, hands)) < tasks; ++round)
    WarpTile<kHeadDim>(a, a.tiles[wide + task / a.kv_heads], task % a.kv_heads).attend();
}

}  // namespace bicrl::gpu
