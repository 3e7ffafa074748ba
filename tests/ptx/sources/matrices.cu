// Tensor cores and asynchronous copies.
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
using namespace nvcuda;

__global__ void half_tiles(const __half* a, const __half* b, float* c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

__global__ void half_sums(const __half* a, const __half* b, __half* c) {
  __shared__ __half tile[16 * 16];
  wmma::fragment<wmma::matrix_a, 32, 8, 16, __half, wmma::col_major> fa;
  wmma::fragment<wmma::matrix_b, 32, 8, 16, __half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 32, 8, 16, __half> fc;
  wmma::load_matrix_sync(fc, c, 32, wmma::mem_col_major);
  wmma::load_matrix_sync(fa, tile, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = __hmul(fc.x[i], fc.x[i]);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_col_major);
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__global__ void other_tiles(const __nv_bfloat16* a, const float* t, const double* d, float* c, double* e) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::load_matrix_sync(fa, a, 16), wmma::load_matrix_sync(fb, a + 256, 16), wmma::fill_fragment(fc, 1.0f);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> ta;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> tb;
  wmma::load_matrix_sync(ta, t, 8), wmma::load_matrix_sync(tb, t, 8);
  for (int i = 0; i < ta.num_elements; ++i) ta.x[i] = wmma::__float_to_tf32(ta.x[i]);
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> tc;
  wmma::fill_fragment(tc, 0.0f);
  wmma::mma_sync(tc, ta, tb, tc);
  wmma::store_matrix_sync(c + 256, tc, 16, wmma::mem_row_major);
  wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> da;
  wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> db;
  wmma::fragment<wmma::accumulator, 8, 8, 4, double> dc;
  wmma::load_matrix_sync(da, d, 4), wmma::load_matrix_sync(db, d, 4), wmma::fill_fragment(dc, 0.0);
  wmma::mma_sync(dc, da, db, dc);
  wmma::store_matrix_sync(e, dc, 8, wmma::mem_row_major);
}

__global__ void raw_mma(const unsigned* a, float* c, const char* bytes, int* sums) {
  __shared__ __align__(16) unsigned tile[256];
  unsigned address = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x * 4), r[4], s[2];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(s[0]), "=r"(s[1])
               : "r"(address));
  float d[4] = {0, 0, 0, 0};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(s[0]), "r"(s[1]));
  c[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
  sums[threadIdx.x] = bytes[0];
}

__global__ void copies(const float4* in, float4* out, int n) {
  __shared__ float4 stage[2][128];
  for (int i = 0; i < 2; ++i) {
    __pipeline_memcpy_async(&stage[i][threadIdx.x], in + i * 128 + threadIdx.x, sizeof(float4));
    __pipeline_commit();
  }
  for (int i = 2; i < n; ++i) {
    __pipeline_wait_prior(1);
    __syncthreads();
    out[i] = stage[i & 1][127 - threadIdx.x];
    __syncthreads();
    __pipeline_memcpy_async(&stage[i & 1][threadIdx.x], in + i * 128 + threadIdx.x, 16, 4);
    __pipeline_commit();
  }
  __pipeline_wait_prior(0);
  out[0] = stage[0][threadIdx.x];
}
#endif
