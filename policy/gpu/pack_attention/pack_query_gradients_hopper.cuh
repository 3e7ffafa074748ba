// The gradient of queries on Hopper: a tile's two runs go over its chunks of keys, as in the forward pass.
// What keys and values are multiplied by stays in registers. It also leaves each row's delta, which the
// gradients of keys and values need.
#pragma once
#include "policy/gpu/pack_attention/pack_gradients.cuh"
#include "policy/gpu/pack_attention/pack_query_tiles.cuh"

namespace bicrl::gpu {

// Queries of a run and gradients of its outputs.
template <int kHeadDim>
using QueryGradientMemory = QueryTileMemory<kHeadDim, 2>;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <int kHeadDim>
class QueryGradientMultiplier {
  using Memory = QueryGradientMemory<kHeadDim>;

 public:
  __device__ QueryGradientMultiplier(const PackArguments& a, Memory& memory)
      : a_(a),
        memory_(memory),
        which_(multiplier_of_thread()),
        warp_(threadIdx.x % kGroupThreads / kWarp),
        steps_(memory, which_) {}

  __device__ void attend(const TileNote& tile) {
    unsigned queries[kHeadDim / 16][4], grads[kHeadDim / 16][4], factors[4][4];
    load_factors<kHeadDim>(shared_address(memory_.rows[which_][0]), queries);
    load_factors<kHeadDim>(shared_address(memory_.rows[which_][1]), grads);
    steps_.release_tile();
    steps_.begin(tile);
    float sum[kHeadDim / 8][4] = {}, score[kChunkEights][4], product[kChunkEights][4];
    float log_sum[2], delta[2];
    const auto begin_step = [&] {
      begin_rows<kHeadDim>(queries, steps_.keys(steps_.place()), score);
      begin_rows<kHeadDim>(grads, steps_.values(steps_.place()), product);
      close_products();
    };
    const auto differentiate = [&] {
      settle(score);
      settle(product);
      steps_.mask(a_, tile, warp_ * 16, score);
      differentiate_rows(a_.scale_log2, log_sum, delta, score, product);
    };
    const auto pack = [&] {
#pragma unroll
      for (int k = 0; k < 4; ++k) pack_columns(product, k, factors[k]);
    };
    bool has_deltas = false;
    while (steps_.seek()) {
      open_products();
      begin_step();
      if (!has_deltas) load_deltas(tile, log_sum, delta);  // while products run
      has_deltas = true;
      wait_for_products<0>();
      differentiate();
      pack();
      unsigned behind = steps_.place();
      for (; steps_.next(); behind = steps_.place()) {
        open_products();
        begin_step();
        begin_sum<kHeadDim>(factors, steps_.keys(behind), sum);
        close_products();
        wait_for_products<1>();
        differentiate();
        wait_for_products<0>();
        settle(sum);
        steps_.release(behind);
        pack();
      }
      open_products();
      begin_sum<kHeadDim>(factors, steps_.keys(behind), sum);
      close_products();
      wait_for_products<0>();
      settle(sum);
      steps_.release(behind);
    }
    if (tile.runs[which_].rows > 0) write(tile, sum);
  }

 private:
  // Of two rows what their scores' gradients need.
  __device__ void load_deltas(const TileNote& tile, float (&log_sum)[2], float (&delta)[2]) const {
    const QueryRun run = tile.runs[which_];
    const ThreadRows rows(a_, run, warp_ * 16);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int product_row = min(rows.product_row[i], run.rows * a_.group - 1);
      const int64_t at = a_.sums_of(tile.kv_head, run.first_row) + product_row;
      log_sum[i] = a_.log_sums[at];
      delta[i] = delta_of<kHeadDim>(a_, rows.row[i], a_.head_of(product_row, tile.kv_head));
      if (threadIdx.x % 4 == 0 && rows.product_row[i] == product_row) a_.deltas[at] = delta[i];
    }
  }

  __device__ void write(const TileNote& tile, const float (&sum)[kHeadDim / 8][4]) const {
    const float scale[2] = {a_.scale, a_.scale};
    const QueryRun run = tile.runs[which_];
    const int kv_head = tile.kv_head;
    write_warp_rows<kHeadDim>(shared_address(memory_.staging[which_ * 4 + warp_]), sum, scale, [&](int row) {
      const int product_row = warp_ * 16 + row;
      return product_row < run.rows * a_.group
                 ? a_.grad_q + (run.first_row + a_.row_in_run(product_row)) * a_.grad_q_stride +
                       a_.head_of(product_row, kv_head) * kHeadDim
                 : nullptr;
    });
  }

  const PackArguments& a_;
  Memory& memory_;
  const int which_, warp_;
  RunSteps<kHeadDim, Memory> steps_;
};

#endif

template <int kHeadDim>
__global__ void __launch_bounds__(kHopperThreads, 1)
    pack_query_gradients_hopper(const __grid_constant__ PackArguments a,
                                const __grid_constant__ PackMaps maps) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char shared[];
  auto& memory = *reinterpret_cast<QueryGradientMemory<kHeadDim>*>(shared);
  go_over_query_tiles<kHeadDim, QueryGradientMultiplier<kHeadDim>>(a, maps, memory);
#endif
}

}  // namespace bicrl::gpu
