// Device side of attention over pages: flash attention of one tile at a time. The rows of a product are a
// tile's rows of queries times the query heads of one key head. Wide tiles (wide_tile.cuh) take a block and
// are bound by what the processor does, those of one warp (warp_tile.cuh) by the memory: each block has some
// of both.
#pragma once
#include "policy/gpu/paged_attention/key_stream.cuh"
#include "policy/gpu/paged_attention/warp_tile.cuh"
#include "policy/gpu/paged_attention/warpgroup_tile.cuh"
#include "policy/gpu/paged_attention/wide_tile.cuh"

namespace bicrl::gpu {

template <int kHeadDim, int kParts>
__device__ inline void attend_tile(const AttentionArguments& a, const AttentionTile& tile, int kv_head,
                                   KeyStream<kHeadDim>& stream) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  attend_warpgroup_tile<kHeadDim, kParts>(a, tile, kv_head, stream);
#else
  attend_wide_tile<kHeadDim, kParts>(a, tile, kv_head, stream);
#endif
}

// Blocks of the second half begin with the tiles of their warps: of the two blocks that share a processor,
// one then computes while the other waits for the memory. Copies for their wide tiles begin behind that, as
// what warps load would stand behind them.
template <int kHeadDim>
__global__ void __launch_bounds__(kAttentionThreads, kAttentionBlocks)
    attend_tiles(const __grid_constant__ AttentionArguments a) {
  extern __shared__ __align__(kSwizzleBytes) unsigned char shared[];
  auto& memory = *reinterpret_cast<StreamMemory<kHeadDim>*>(shared);
  const bool warps_first = blockIdx.x >= gridDim.x / 2;
  if (warps_first) attend_warp_tiles<kHeadDim>(a);
  const BlockTasks tasks(a);
  KeyStream<kHeadDim> stream(a, memory);
  for (int round = 0; round < tasks.rounds; ++round) {
    __syncthreads();  // the tile is written, and the memory of the one before read
    const AttentionTile& tile = memory.tiles[round % kTilesKept];
    const int kv_head = tasks.at(round) % a.kv_heads;
    if (tile.rows * a.group <= kWideColumns / 2)
      attend_tile<kHeadDim, 1>(a, tile, kv_head, stream);
    else
      attend_tile<kHeadDim, 2>(a, tile, kv_head, stream);
  }
  if (!warps_first) attend_warp_tiles<kHeadDim>(a);
}

// Sixteen bytes of a row's head for each thread; the shares of a row lie side by side, and the first ones are
// loaded at once, beside their weights.
template <int kHeadDim>
__global__ void __launch_bounds__(kAttentionThreads)
    join_shares(const int32_t* first_share, const int32_t* counts, const __nv_bfloat16* partial_out,
                const float* partial_log, __nv_bfloat16* out, int rows, int heads) {
  constexpr int kDims = 8, kThreads = kHeadDim / kDims, kAtOnce = 4;
  struct alignas(16) Part {
    __nv_bfloat16 x[kDims];
  };
  const int thread = blockIdx.x * kAttentionThreads + threadIdx.x;
  const int task = thread / kThreads, row = task / heads, head = task % heads;
  if (row >= rows || row >= counts[2]) return;
  const int first = first_share[row], end = first_share[row + 1];
  float best = kNever, sum = 0, x[kDims] = {};
  for (int start = first; start < end; start += kAtOnce) {
    Part parts[kAtOnce];
    float logs[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      const int64_t at = int64_t{start + j} * heads + head;
      logs[j] = start + j < end ? partial_log[at] : kNever;
      parts[j] = start + j < end
                     ? reinterpret_cast<const Part*>(partial_out + at * kHeadDim)[thread % kThreads]
                     : Part{};
    }
    float higher = best;
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) higher = fmaxf(higher, logs[j]);
    const float origin = higher == kNever ? 0.0f : higher, shrink = exponential2(best - origin);
    best = higher;
    sum *= shrink;
    for (float& each : x) each *= shrink;
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      const float weight = exponential2(logs[j] - origin);
      sum += weight;
      for (int d = 0; d < kDims; ++d) x[d] += weight * __bfloat162float(parts[j].x[d]);
    }
  }
  Part joined;
  for (int d = 0; d < kDims; ++d) joined.x[d] = __float2bfloat16_rn(x[d] / sum);
  reinterpret_cast<Part*>(out + (int64_t{row} * heads + head) * kHeadDim)[thread % kThreads] = joined;
}

}  // namespace bicrl::gpu
