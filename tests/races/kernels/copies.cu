// Asynchronous copies, barriers in shared memory, barriers of some warps, and matrices.
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
#include <cuda/barrier>
#define ARGS (int* in, int* out, int* scratch, int n)
#define T threadIdx.x
#define B blockIdx.x
namespace cg = cooperative_groups;
using namespace nvcuda;

__device__ void wait_named(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ void arrive_named(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

//! sound 2 128
extern "C" __global__ void copy_async ARGS {
  __shared__ int s[128];
  __pipeline_memcpy_async(&s[T], &in[B * 128 + T], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[B * 128 + T] = s[127 - T];
}
//! racy 2 128 -> __syncthreads
extern "C" __global__ void copy_async_waited_without_barrier ARGS {
  __shared__ int s[128];
  __pipeline_memcpy_async(&s[T], &in[B * 128 + T], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[B * 128 + T] = s[127 - T];
}
//! sound 2 128
extern "C" __global__ void copy_async_of_own_words ARGS {
  __shared__ int s[128];
  __pipeline_memcpy_async(&s[T], &in[B * 128 + T], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[B * 128 + T] = s[T];
}
//! sound 2 128
extern "C" __global__ void copies_in_two_buffers ARGS {
  __shared__ int s[2][128];
  int sum = 0;
  __pipeline_memcpy_async(&s[0][T], &in[T], 4);
  __pipeline_commit();
  for (int k = 0; k < 8; ++k) {
    if (k < 7) __pipeline_memcpy_async(&s[(k + 1) % 2][T], &in[(k + 1) * 128 + T], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += s[k % 2][127 - T];
    __syncthreads();
  }
  out[B * 128 + T] = sum;
}
//! racy 2 128
extern "C" __global__ void copies_in_two_buffers_one_barrier ARGS {
  __shared__ int s[2][128];
  int sum = 0;
  __pipeline_memcpy_async(&s[0][T], &in[T], 4);
  __pipeline_commit();
  for (int k = 0; k < 8; ++k) {
    if (k < 7) __pipeline_memcpy_async(&s[(k + 1) % 2][T], &in[(k + 1) * 128 + T], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += s[k % 2][127 - T];
  }
  out[B * 128 + T] = sum;
}
//! racy 2 128
extern "C" __global__ void copies_over_what_is_read ARGS {
  __shared__ __align__(16) int s[128];
  int sum = 0;
  for (int k = 0; k < 4; ++k) {
    if (T < 32) __pipeline_memcpy_async(&s[T * 4], &in[k * 128 + T * 4], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    sum += s[127 - T];
  }
  out[B * 128 + T] = sum;
}
//! sound 1 128
extern "C" __global__ void barrier_object ARGS {
  __shared__ int s[128];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (T == 0) init(&bar, 128);
  __syncthreads();
  for (int k = 0; k < 3; ++k) {
    s[T] = in[k * 128 + T];
    bar.arrive_and_wait();
    out[k * 128 + T] = s[127 - T];
    bar.arrive_and_wait();
  }
}
//! racy 1 128
extern "C" __global__ void barrier_object_once ARGS {
  __shared__ int s[128];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (T == 0) init(&bar, 128);
  __syncthreads();
  for (int k = 0; k < 3; ++k) {
    s[T] = in[k * 128 + T];
    bar.arrive_and_wait();
    out[k * 128 + T] = s[127 - T];
  }
}
//! racy 1 128
extern "C" __global__ void barrier_object_arrives_too_early ARGS {
  __shared__ int s[128];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (T == 0) init(&bar, 128);
  __syncthreads();
  auto token = bar.arrive();
  s[T] = in[T];
  bar.wait(std::move(token));
  out[T] = s[127 - T];
}
//! sound 1 128
extern "C" __global__ void copies_that_arrive ARGS {
  __shared__ int s[128];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (T == 0) init(&bar, 128);
  __syncthreads();
  cuda::memcpy_async(&s[T], &in[T], sizeof(int), bar);
  bar.arrive_and_wait();
  out[T] = s[127 - T];
}
//! sound 1 128
extern "C" __global__ void producer_and_consumer ARGS {
  __shared__ int s[2][64];
  if (T < 64) {
    for (int k = 0; k < 6; ++k) {
      if (k >= 2) wait_named(3 + k % 2, 128);
      s[k % 2][T] = in[k * 64 + T];
      arrive_named(1 + k % 2, 128);
    }
  } else {
    int t = T - 64, sum = 0;
    for (int k = 0; k < 6; ++k) {
      wait_named(1 + k % 2, 128);
      sum += s[k % 2][63 - t];
      if (k < 4) arrive_named(3 + k % 2, 128);
    }
    out[t] = sum;
  }
}
//! racy 1 128
extern "C" __global__ void producer_does_not_wait ARGS {
  __shared__ int s[2][64];
  if (T < 64) {
    for (int k = 0; k < 2; ++k) {
      s[0][T] = in[k * 64 + T];
      arrive_named(1 + k, 128);
    }
  } else {
    int t = T - 64, sum = 0;
    for (int k = 0; k < 2; ++k) {
      wait_named(1 + k, 128);
      sum += s[0][63 - t];
    }
    out[t] = sum;
  }
}
//! racy 1 128
extern "C" __global__ void consumer_waits_for_the_other_barrier ARGS {
  __shared__ int s[64], r[64];
  if (T < 64) {
    s[T] = in[T];
    arrive_named(1, 128);
    r[T] = in[T + 64];
    arrive_named(2, 128);
  } else {
    wait_named(1, 128);
    int a = r[127 - T];
    wait_named(2, 128);
    out[T - 64] = a + s[127 - T];
  }
}
//! sound 1 128
extern "C" __global__ void halves_with_barriers_of_their_own ARGS {
  __shared__ int s[128];
  s[T] = in[T];
  if (T < 64)
    wait_named(1, 64);
  else
    wait_named(2, 64);
  out[T] = s[T ^ 63];
}
//! racy 1 128
extern "C" __global__ void halves_across ARGS {
  __shared__ int s[128];
  s[T] = in[T];
  if (T < 64)
    wait_named(1, 64);
  else
    wait_named(2, 64);
  out[T] = s[127 - T];
}
//! sound 1 128
extern "C" __global__ void tiles ARGS {
  __shared__ int s[128];
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  s[T] = in[T];
  tile.sync();
  out[T] = s[T ^ 15];
}
//! racy 1 128
extern "C" __global__ void tiles_across ARGS {
  __shared__ int s[128];
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  s[T] = in[T];
  tile.sync();
  out[T] = s[T ^ 31];
}
//! sound 1 128
extern "C" __global__ void group_of_the_block ARGS {
  __shared__ int s[128];
  auto block = cg::this_thread_block();
  s[T] = in[T];
  block.sync();
  out[T] = s[127 - T];
}
//! sound 1 64
extern "C" __global__ void coalesced_lanes ARGS {
  __shared__ int s[64];
  if (T % 2 == 0) {
    auto some = cg::coalesced_threads();
    s[T] = in[T];
    some.sync();
    out[T] = s[(T ^ 30)];
  }
}
//! sound 1 64
extern "C" __global__ void product_of_matrices ARGS {
  __shared__ __align__(32) half a[256], b[256];
  __shared__ __align__(32) float c[2][256];
  for (int i = T; i < 256; i += 64) {
    a[i] = __int2half_rn(in[i]);
    b[i] = __int2half_rn(in[i + 256]);
  }
  __syncthreads();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c[T / 32], fc, 16, wmma::mem_row_major);
  __syncthreads();
  for (int i = T; i < 256; i += 64) out[i] = (int)(c[0][i] + c[1][i]);
}
//! racy 1 64
extern "C" __global__ void product_of_matrices_without_barrier ARGS {
  __shared__ __align__(32) half a[256], b[256];
  __shared__ __align__(32) float c[2][256];
  for (int i = T; i < 256; i += 64) {
    a[i] = __int2half_rn(in[i]);
    b[i] = __int2half_rn(in[i + 256]);
  }
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c[T / 32], fc, 16, wmma::mem_row_major);
  __syncthreads();
  for (int i = T; i < 256; i += 64) out[i] = (int)(c[0][i] + c[1][i]);
}
//! racy 1 64
extern "C" __global__ void product_read_without_barrier ARGS {
  __shared__ __align__(32) half a[256];
  __shared__ __align__(32) float c[2][256];
  for (int i = T; i < 256; i += 64) a[i] = __int2half_rn(in[i]);
  __syncthreads();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, a, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c[T / 32], fc, 16, wmma::mem_row_major);
  for (int i = T; i < 256; i += 64) out[i] = (int)(c[0][i] + c[1][i]);
}
//! sound 1 64
extern "C" __global__ void rows_by_ldmatrix ARGS {
  __shared__ __align__(16) half a[256];
  for (int i = T; i < 256; i += 64) a[i] = __int2half_rn(in[i]);
  __syncthreads();
  unsigned r[4], address = (unsigned)__cvta_generic_to_shared(a + T % 32 * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
  out[T] = r[0] ^ r[1] ^ r[2] ^ r[3];
}
//! racy 1 64
extern "C" __global__ void rows_by_ldmatrix_without_barrier ARGS {
  __shared__ __align__(16) half a[256];
  for (int i = T; i < 256; i += 64) a[i] = __int2half_rn(in[i]);
  unsigned r[4], address = (unsigned)__cvta_generic_to_shared(a + T % 32 * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
  out[T] = r[0] ^ r[1] ^ r[2] ^ r[3];
}
