// The forward pass of attention to packs on Hopper: a tile's two runs go over its chunks of keys. While a
// chunk's scores are weighed, the weighted values of the one before are added up.
#pragma once
#include "policy/gpu/pack_attention/pack_query_tiles.cuh"

namespace bicrl::gpu {

// Queries of a run.
template <int kHeadDim>
using ForwardMemory = QueryTileMemory<kHeadDim, 1>;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <int kHeadDim>
class ForwardMultiplier {
  using Memory = ForwardMemory<kHeadDim>;

 public:
  __device__ ForwardMultiplier(const PackArguments& a, Memory& memory)
      : a_(a),
        memory_(memory),
        which_(multiplier_of_thread()),
        warp_(threadIdx.x % kGroupThreads / kWarp),
        steps_(memory, which_) {}

  __device__ void attend(const TileNote& tile) {
    unsigned queries[kHeadDim / 16][4], weights[4][4];
    load_factors<kHeadDim>(shared_address(memory_.rows[which_][0]), queries);
    steps_.release_tile();
    steps_.begin(tile);
    RowSums sums;
    float out[kHeadDim / 8][4] = {}, score[kChunkEights][4], shrink[2];
    const auto weigh = [&] {
      steps_.mask(a_, tile, warp_ * 16, score);
      return weigh_scores(a_.scale_log2, sums, score, shrink);
    };
    const auto pack = [&] {
#pragma unroll
      for (int k = 0; k < 4; ++k) pack_columns(score, k, weights[k]);
    };
    while (steps_.seek()) {
      open_products();
      begin_rows<kHeadDim>(queries, steps_.keys(steps_.place()), score);
      close_products();
      wait_for_products<0>();
      settle(score);
      if (weigh()) shrink_sums(shrink, out);
      pack();
      unsigned behind = steps_.place();
      for (; steps_.next(); behind = steps_.place()) {
        open_products();
        begin_rows<kHeadDim>(queries, steps_.keys(steps_.place()), score);
        close_products();
        begin_sum<kHeadDim>(weights, steps_.values(behind), out);
        close_products();
        wait_for_products<1>();
        settle(score);
        const bool any = weigh();
        wait_for_products<0>();
        settle(out);
        steps_.release(behind);
        if (any) shrink_sums(shrink, out);
        pack();
      }
      open_products();
      begin_sum<kHeadDim>(weights, steps_.values(behind), out);
      close_products();
      wait_for_products<0>();
      settle(out);
      steps_.release(behind);
    }
    if (tile.runs[which_].rows > 0) write(tile, sums, out);
  }

 private:
  __device__ void write(const TileNote& tile, const RowSums& sums,
                        const float (&out)[kHeadDim / 8][4]) const {
    float inverse[2];
    const QueryRun run = tile.runs[which_];
    const int used = run.rows * a_.group, kv_head = tile.kv_head;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const RowResult end = end_row(sums, i);
      inverse[i] = end.inverse;
      const int product_row = warp_ * 16 + i * 8 + threadIdx.x % kWarp / 4;
      if (threadIdx.x % 4 == 0 && product_row < used)
        a_.log_sums[a_.sums_of(kv_head, run.first_row) + product_row] = end.log_sum;
    }
    write_warp_rows<kHeadDim>(
        shared_address(memory_.staging[which_ * 4 + warp_]), out, inverse, [&](int row) {
          const int product_row = warp_ * 16 + row;
          return product_row < used
                     ? a_.out + a_.place_of<kHeadDim>(run.first_row + a_.row_in_run(product_row),
                                                      a_.head_of(product_row, kv_head))
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
    pack_forward_hopper(const __grid_constant__ PackArguments a, const __grid_constant__ PackMaps maps) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char shared[];
  auto& memory = *reinterpret_cast<ForwardMemory<kHeadDim>*>(shared);
  go_over_query_tiles<kHeadDim, ForwardMultiplier<kHeadDim>>(a, maps, memory);
#endif
}

}  // namespace bicrl::gpu
