// Shuffles, votes, matches, atomics, fences and cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;

__inline__ __device__ float warp_sum(float v) {
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
  return v;
}

__global__ void block_sum(const float* x, float* out, int n) {
  __shared__ float partial[32];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    v = warp_sum(v);
    if (threadIdx.x == 0) atomicAdd(out, v);
  }
}

__global__ void votes(int* x, unsigned long long* y) {
  unsigned mask = __activemask();
  int v = x[threadIdx.x];
  unsigned ballot = __ballot_sync(mask, v > 3);
  int any = __any_sync(mask, v) + __all_sync(mask, v) + __match_any_sync(mask, v);
  int same;
  any += __match_all_sync(mask, v, &same) + same;
  any += __shfl_xor_sync(mask, v, 1) + __shfl_up_sync(mask, v, 2, 8) + __shfl_sync(mask, v, 3);
#if __CUDA_ARCH__ >= 800
  any += __reduce_add_sync(mask, v) + __reduce_max_sync(mask, v) + __reduce_xor_sync(mask, (unsigned)v);
#endif
  __syncwarp();
  if (__syncthreads_or(v) && __syncthreads_and(v)) any += __syncthreads_count(v);
  atomicCAS(x, any, ballot);
  atomicExch(x + 1, 3);
  atomicMin(x + 2, v), atomicMax(x + 3, v), atomicAnd(x + 4, v), atomicOr(x + 5, v), atomicXor(x + 6, v),
      atomicSub(x + 7, v);
  atomicInc((unsigned*)x + 8, 5), atomicDec((unsigned*)x + 9, 5);
  y[1] = atomicAdd(y, 7ull) + atomicCAS_block(y + 2, 3ull, 4ull) + atomicAdd_system(y + 5, 2ull);
  __threadfence_block(), __threadfence(), __threadfence_system();
}

__global__ void half_atomics(__half* h, __half2* h2, double* d) {
  atomicAdd(h, __float2half(1.0f));
  atomicAdd(h2, __float2half2_rn(1.0f));
  atomicAdd(d, 2.0);
}

__global__ void spin(volatile int* flag, int* data) {
  while (*flag == 0) __nanosleep(100);
  data[threadIdx.x] = clock() + (int)clock64();
}

__global__ void groups(int* x, float* y) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  int v = x[block.thread_rank()];
  v = cg::reduce(tile, v, cg::plus<int>());
  v += cg::inclusive_scan(tile, v);
  block.sync();
  auto active = cg::coalesced_threads();
  y[threadIdx.x] = active.size() + tile.shfl(v, 3) + tile.meta_group_rank();
  auto part = cg::labeled_partition(active, v & 1);
  x[1] = part.size();
}
