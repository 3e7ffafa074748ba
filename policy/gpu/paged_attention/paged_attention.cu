#include "policy/gpu/paged_attention/paged_attention.cuh"

#include <cuda_runtime_api.h>

#include "common/error.h"
#include "policy/gpu/launch_check.h"

namespace bicrl::gpu {
namespace {

static_assert(kWideColumnsAtMost == kWideColumns && kWarpColumnsAtMost == kWarpColumns);

// Keys of a tile: so many that shares of rows are little beside keys, and fewer where that would leave
// processors without a wide tile, or warps without one of theirs.
constexpr int64_t kTileKeys = 512, kLeastTileKeys = 128, kLeastKeysOfWarp = 64;

int processors() {
  int device = 0, count = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

template <int kHeadDim>
void run(const PagedAttention& work, Stream stream) {
  const auto group = static_cast<int>(work.heads / work.kv_heads);
  constexpr int kShared = sizeof(StreamMemory<kHeadDim>);
  // For this device; cheap enough to be said each time.
  cudaFuncSetAttribute(attend_tiles<kHeadDim>, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared);
  const AttentionArguments arguments = {reinterpret_cast<const __nv_bfloat16*>(work.q),
                                        reinterpret_cast<const __nv_bfloat16*>(work.pool),
                                        work.tiles,
                                        work.counts,
                                        work.pages,
                                        work.key_limits,
                                        work.first_share,
                                        reinterpret_cast<__nv_bfloat16*>(work.partial_out),
                                        work.partial_log,
                                        work.scale * 1.44269504088896340736f,
                                        static_cast<int>(work.heads),
                                        static_cast<int>(work.kv_heads),
                                        group,
                                        (65535 + group) / group};
  const int blocks = kAttentionBlocks * processors();
  attend_tiles<kHeadDim><<<static_cast<unsigned>(blocks), kAttentionThreads, kShared, stream>>>(arguments);
  check_launch("paged_attention (tiles)");
  constexpr int kJoinsOfBlock = kAttentionThreads / (kHeadDim / 8);
  const int64_t joins = (work.rows * work.heads + kJoinsOfBlock - 1) / kJoinsOfBlock;
  join_shares<kHeadDim><<<static_cast<unsigned>(joins), kAttentionThreads, 0, stream>>>(
      work.first_share, work.counts, reinterpret_cast<const __nv_bfloat16*>(work.partial_out),
      work.partial_log, reinterpret_cast<__nv_bfloat16*>(work.out), static_cast<int>(work.rows),
      static_cast<int>(work.heads));
  check_launch("paged_attention (shares)");
}

}  // namespace

TileLimits tile_limits(int64_t heads, int64_t kv_heads, int64_t shares) {
  TileLimits limits;
  limits.rows = kWideColumnsAtMost * kv_heads / heads;
  limits.warp_rows = kWarpColumnsAtMost * kv_heads / heads;
  limits.keys = kTileKeys;
  limits.shares = shares;
  // With all their key heads half of the blocks that are launched, and half of their warps.
  limits.few = int64_t{kAttentionBlocks} * processors() / 2 / kv_heads;
  limits.few_of_warps = kAttentionWarps * limits.few;
  limits.least_keys = kLeastTileKeys;
  limits.least_keys_of_warps = kLeastKeysOfWarp;
  return limits;
}

void paged_attention(const PagedAttention& work, Stream stream) {
  if (work.rows == 0) return;
  BICRL_CHECK(work.head_dim == 64 || work.head_dim == 128, "head_dim ", work.head_dim);
  if (work.head_dim == 64)
    run<64>(work, stream);
  else
    run<128>(work, stream);
}

}  // namespace bicrl::gpu
