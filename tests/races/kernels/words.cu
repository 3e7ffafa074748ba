// Neighbours in one word, vectors, rings, flags within a block, libraries.
#include <cuda_fp16.h>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda/atomic>
struct Greater {
  __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};
#define ARGS (int* in, int* out, int* scratch, int n)
#define T threadIdx.x
#define B blockIdx.x
#define I (blockIdx.x * blockDim.x + threadIdx.x)

//! sound 2 128
extern "C" __global__ void bytes_beside_each_other ARGS { ((unsigned char*)out)[I] = in[I]; }
//! sound 1 128
extern "C" __global__ void bytes_in_shared_memory ARGS {
  __shared__ unsigned char s[128];
  s[T] = in[T];
  out[T] = s[T];
}
//! racy 1 128
extern "C" __global__ void bytes_of_others ARGS {
  __shared__ unsigned char s[128];
  s[T] = in[T];
  out[T] = s[T ^ 1];
}
//! sound 2 128
extern "C" __global__ void halves_beside_each_other ARGS { ((half*)out)[I] = __int2half_rn(in[I]); }
//! racy 2 128
extern "C" __global__ void halves_written_as_pairs ARGS {
  half* h = (half*)out;
  h[I] = __int2half_rn(in[I] + 1);
  if (I % 2 == 0) ((half2*)out)[I / 2] = __floats2half2_rn(I, 2);
}
//! sound 2 128
extern "C" __global__ void words_then_bytes ARGS {
  out[I] = in[I];
  ((unsigned char*)out)[4 * I + 1] = 3;
  scratch[I] = out[I];
}
//! racy 1 128
extern "C" __global__ void words_then_bytes_of_others ARGS {
  __shared__ int s[128];
  s[T] = in[T];
  ((unsigned char*)s)[T] = 3;
  __syncthreads();
  out[T] = s[T];
}
//! sound 2 64
extern "C" __global__ void vectors ARGS {
  int4 v = ((int4*)in)[I];
  v.x += v.y + v.z + v.w;
  ((int4*)out)[I] = v;
}
//! racy 2 64
extern "C" __global__ void vectors_that_overlap ARGS {
  int2 v = ((int2*)in)[I];
  ((int2*)out)[I] = v;
  out[I + 1] = v.x + I;
}
//! racy 1 64
extern "C" __global__ void vector_of_what_others_write ARGS {
  __shared__ __align__(16) int s[64];
  s[T] = in[T];
  if (T < 16) {
    int4 v = ((int4*)s)[T];
    out[T] = v.x + v.y + v.z + v.w;
  }
}
//! sound 1 64
extern "C" __global__ void vector_behind_a_barrier ARGS {
  __shared__ __align__(16) int s[64];
  s[T] = in[T];
  __syncthreads();
  if (T < 16) {
    int4 v = ((int4*)s)[T];
    out[T] = v.x + v.y + v.z + v.w;
  }
}
//! sound 1 256
extern "C" __global__ void block_reduce ARGS {
  typedef cub::BlockReduce<int, 256> Reduce;
  __shared__ typename Reduce::TempStorage storage;
  int sum = Reduce(storage).Sum(in[T]);
  __syncthreads();
  int most = Reduce(storage).Reduce(in[T], Greater());
  if (T == 0) out[0] = sum, out[1] = most;
}
//! racy 1 256
extern "C" __global__ void block_reduce_storage_reused ARGS {
  typedef cub::BlockReduce<int, 256> Reduce;
  __shared__ typename Reduce::TempStorage storage;
  int sum = Reduce(storage).Sum(in[T]);
  int most = Reduce(storage).Reduce(in[T], Greater());
  if (T == 0) out[0] = sum, out[1] = most;
}
//! sound 1 256
extern "C" __global__ void block_scan ARGS {
  typedef cub::BlockScan<int, 256> Scan;
  __shared__ typename Scan::TempStorage storage;
  int a, b;
  Scan(storage).InclusiveSum(in[T], a);
  __syncthreads();
  Scan(storage).ExclusiveSum(in[T + 256], b);
  out[T] = a + b;
}
//! racy 1 256
extern "C" __global__ void block_scan_storage_reused ARGS {
  typedef cub::BlockScan<int, 256, cub::BLOCK_SCAN_WARP_SCANS> Scan;
  __shared__ typename Scan::TempStorage storage;
  int a, b;
  Scan(storage).InclusiveSum(in[T], a);
  Scan(storage).ExclusiveSum(in[T + 256], b);
  out[T] = a + b;
}
//! sound 1 64
extern "C" __global__ void flag_between_warps ARGS {
  __shared__ int data;
  __shared__ volatile int flag;
  if (T == 0) flag = 0;
  __syncthreads();
  if (T == 32) {
    data = in[0];
    __threadfence_block();
    flag = 1;
  }
  if (T == 0) {
    while (flag == 0) {
    }
    __threadfence_block();
    out[0] = data;
  }
}
//! racy 1 64
extern "C" __global__ void flag_between_warps_without_fence ARGS {
  __shared__ int data;
  __shared__ volatile int flag;
  if (T == 0) flag = 0;
  __syncthreads();
  if (T == 32) {
    data = in[0];
    flag = 1;
  }
  if (T == 0) {
    while (flag == 0) {
    }
    out[0] = data;
  }
}
//! sound 2 32
extern "C" __global__ void release_and_acquire ARGS {
  cuda::atomic_ref<int, cuda::thread_scope_device> flag(scratch[0]);
  if (T != 0) return;
  if (B == 0) {
    out[0] = in[0];
    flag.store(1, cuda::memory_order_release);
  } else {
    while (flag.load(cuda::memory_order_acquire) == 0) {
    }
    out[1] = out[0];
  }
}
//! racy 2 32
extern "C" __global__ void relaxed_is_no_release ARGS {
  cuda::atomic_ref<int, cuda::thread_scope_device> flag(scratch[0]);
  if (T != 0) return;
  if (B == 0) {
    out[0] = in[0];
    flag.store(1, cuda::memory_order_relaxed);
  } else {
    while (flag.load(cuda::memory_order_relaxed) == 0) {
    }
    out[1] = out[0];
  }
}
//! sound 2 32
extern "C" __global__ void release_by_atomics ARGS {
  cuda::atomic_ref<int, cuda::thread_scope_device> count(scratch[0]);
  if (T != 0) return;
  out[B] = in[B];
  if (count.fetch_add(1, cuda::memory_order_acq_rel) == 1) out[2] = out[0] + out[1];
}
//! racy 1 64
extern "C" __global__ void ring_written_too_far ARGS {
  __shared__ int ring[3][64];
  int sum = 0;
  for (int k = 0; k < 9; ++k) {
    ring[k % 3][T] = in[k * 64 + T];
    if (k % 3 == 2) {
      __syncthreads();
      for (int i = 0; i < 3; ++i) sum += ring[i][63 - T];
    }
  }
  out[T] = sum;
}
//! sound 1 64
extern "C" __global__ void ring ARGS {
  __shared__ int ring[3][64];
  int sum = 0;
  for (int k = 0; k < 9; ++k) {
    ring[k % 3][T] = in[k * 64 + T];
    __syncthreads();
    sum += ring[k % 3][63 - T] + (k > 0 ? ring[(k + 2) % 3][63 - T] : 0);
  }
  out[T] = sum;
}
//! sound 1 64
extern "C" __global__ void lock_in_shared_memory ARGS {
  __shared__ int lock, sum;
  if (T == 0) lock = sum = 0;
  __syncthreads();
  if (T % 32 == 0) {
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    __threadfence_block();
    sum = sum * 3 + in[T];
    __threadfence_block();
    atomicExch(&lock, 0);
  }
  __syncthreads();
  out[T] = sum;
}
//! racy 1 64
extern "C" __global__ void unlocked_by_a_plain_store ARGS {
  __shared__ int lock, sum;
  if (T == 0) lock = sum = 0;
  __syncthreads();
  if (T % 32 == 0) {
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    sum = sum * 3 + in[T];
    lock = 0;
  }
  __syncthreads();
  out[T] = sum;
}
__device__ int counter;
//! sound 4 32
extern "C" __global__ void ticket_of_a_symbol ARGS {
  if (T == 0) out[atomicAdd(&counter, 1)] = in[B];
}
//! racy 4 32
extern "C" __global__ void symbol_without_atomics ARGS {
  if (T == 0) {
    counter += in[B] + 1;
    out[B] = counter;
  }
}
//! sound 4 64
extern "C" __global__ void each_block_its_slice ARGS {
  __shared__ int s[64];
  for (int k = 0; k < 4; ++k) {
    s[T] = in[(B * 4 + k) * 64 + T];
    __syncthreads();
    scratch[B * 64 + T] = s[63 - T];
    __syncthreads();
    out[(B * 4 + k) * 64 + T] = scratch[B * 64 + (T + 1) % 64];
    __syncthreads();
  }
}
//! racy 2 128 -> __ldg
extern "C" __global__ void written_and_read_by_a_non_coherent_load ARGS {
  scratch[I] = in[I];
  __syncthreads();
  out[I] = __ldg(scratch + B * blockDim.x + (T + 1) % blockDim.x);
}
//! racy 2 128 -> the same thread
extern "C" __global__ void own_write_read_by_a_non_coherent_load ARGS {
  scratch[I] = 3 * in[I];
  out[I] = __ldg(scratch + I) + 1;
}
//! sound 2 128
extern "C" __global__ void read_by_a_non_coherent_load_and_then_written ARGS {
  in[I] = __ldg(in + I) + 1;
  out[I] = in[I];
}
//! sound 2 128
extern "C" __global__ void non_coherent_loads_of_what_nobody_writes ARGS {
  scratch[I] = __ldg(in + (I + 1) % n);
  __syncthreads();
  out[I] = scratch[B * blockDim.x + (T + 1) % blockDim.x];
}
