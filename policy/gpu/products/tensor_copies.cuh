// Hopper's copy engine and the barriers in shared memory that it reports to. A copy takes a box of a tensor
// (what is outside of the tensor becomes zero) or bytes side by side; a barrier's phase ends when all
// expected arrivals and bytes are there. Addresses are of shared memory.
#pragma once
#include <cuda.h>

#include "policy/gpu/products/warpgroup_products.cuh"

namespace bicrl::gpu {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

__device__ inline void init_barrier(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// What was initialised is seen by the copy engine, and behind the next barrier of the block by its threads.
__device__ inline void show_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ inline void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Arrives, and expects so many bytes of copies in this phase.
__device__ inline void arrive_expecting(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
// Until the phase of that parity has ended. The phase before the first one has parity 1, and has ended.
__device__ inline void wait_for_phase(unsigned barrier, unsigned parity) {
  unsigned ended = 0;
  do {
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
        : "=r"(ended)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (ended == 0);
}

__device__ inline void copy_box(unsigned to, const CUtensorMap& map, unsigned barrier, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
      "[%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z)
      : "memory");
}
__device__ inline void copy_box(unsigned to, const CUtensorMap& map, unsigned barrier, int x, int y, int z,
                                int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
      "%6}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}
// Into the second cache alone.
__device__ inline void prefetch_box(const CUtensorMap& map, int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global [%0, {%1, %2, %3, %4}];" ::"l"(&map), "r"(x),
               "r"(y), "r"(z), "r"(w)
               : "memory");
}
// A multiple of sixteen, as both addresses are.
__device__ inline void copy_bytes(unsigned to, const void* from, unsigned bytes, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
      "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
      : "memory");
}
__device__ inline void fetch_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Registers of each thread of a warpgroup from here on; all of its warps say the same.
template <int kRegisters>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Barriers side by side for places that are filled and emptied in turn.
template <int kPlaces>
struct Ring {
  unsigned place = 0, parity = 0;
  __device__ void advance() {
    if (++place == kPlaces) {
      place = 0;
      parity ^= 1;
    }
  }
};

#endif

}  // namespace bicrl::gpu
