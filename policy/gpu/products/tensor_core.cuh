// The instructions that the attention kernel is made of: copies into shared memory that run beside the
// computation, moves of 8 by 8 matrices into registers, and products of bf16 matrices into sums of fp32.
#pragma once
#include <cuda_bf16.h>

namespace bicrl::gpu {

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Sixteen bytes; zeros if they are not wanted, and nothing is read then.
__device__ inline void copy_async(unsigned to, const void* from, bool wanted) {
  const int bytes = wanted ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(__cvta_generic_to_global(from)),
               "r"(bytes)
               : "memory");
}
__device__ inline void close_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until at most so many of the groups closed last are under way.
template <int kPending>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// Four matrices; lane l gives the address of row l % 8 of matrix l / 8.
__device__ inline void load_matrices(unsigned address, unsigned (&to)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
__device__ inline void load_matrices_transposed(unsigned address, unsigned (&to)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

__device__ inline void store_shared(unsigned address, unsigned x) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(x) : "memory");
}
__device__ inline uint4 load_shared(unsigned address) {
  uint4 x;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
               : "r"(address)
               : "memory");
  return x;
}

// c += a b, with a [16, 16] and b [16, 8].
__device__ inline void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Sixteen bytes that hardly anybody reads again.
__device__ inline uint4 load_once(const __nv_bfloat16* from) {
  return __ldcs(reinterpret_cast<const uint4*>(from));
}

// Of two pairs, the first of each, and the second.
__device__ inline unsigned lower_halves(unsigned a, unsigned b) { return __byte_perm(a, b, 0x5410); }
__device__ inline unsigned upper_halves(unsigned a, unsigned b) { return __byte_perm(a, b, 0x7632); }

// The first in the lower half.
__device__ inline unsigned pack_pair(float first, float second) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
  return *reinterpret_cast<const unsigned*>(&pair);
}

// 2 to the x; -inf gives zero.
__device__ inline float exponential2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace bicrl::gpu
