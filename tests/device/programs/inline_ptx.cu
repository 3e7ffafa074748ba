#include <torch/extension.h>
__device__ __forceinline__ unsigned lane() {
  unsigned id;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(id));
  return id;
}
__global__ void lanes(int* x) {
  x[threadIdx.x] = lane() + __popc(__ballot_sync(0xffffffff, threadIdx.x & 1));
}
void forward(torch::Tensor x) { lanes<<<1, 32>>>(x.data_ptr<int>()); }
