#include "policy/gpu/launch_gate.h"

#include <cuda_runtime_api.h>

#include <new>

#include "common/error.h"
#include "policy/gpu/launch_check.h"

namespace bicrl::gpu {
namespace {

__global__ void wait_until_opened(const int64_t* opened, int64_t gate) {
  int64_t now = 0;
  do {
    asm volatile("ld.acquire.sys.global.s64 %0, [%1];" : "=l"(now) : "l"(opened) : "memory");
  } while (now < gate);
}

}  // namespace

LaunchGate::LaunchGate() {
  static_assert(sizeof(std::atomic<int64_t>) == sizeof(int64_t));
  void* memory = nullptr;
  const cudaError_t error = cudaHostAlloc(&memory, sizeof(std::atomic<int64_t>), cudaHostAllocMapped);
  if (error != cudaSuccess) throw Error(concat("no pinned memory: ", cudaGetErrorString(error)));
  opened_ = new (memory) std::atomic<int64_t>(0);
}

LaunchGate::~LaunchGate() { cudaFreeHost(opened_); }

void LaunchGate::close(Stream stream) {
  ++closed_;  // also if the launch fails: what may have been queued is opened then
  wait_until_opened<<<1, 1, 0, stream>>>(reinterpret_cast<const int64_t*>(opened_), closed_);
  check_launch("wait_until_opened");
}

void LaunchGate::open() { opened_->store(closed_, std::memory_order_release); }

}  // namespace bicrl::gpu
