# class: correct
# task: full_sum
# features: st.release.gpu and ld.acquire.gpu by inline PTX, a producer chain of blocks; cudaMemset of flags
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>

__device__ __forceinline__ void store_release(unsigned int* p, unsigned int v) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
__device__ __forceinline__ unsigned int load_acquire(const unsigned int* p) {
    unsigned int v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

__global__ void sum_chain_kernel(const float* x, float* running, unsigned int* flags, float* out, int n) {
    float acc = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) acc += x[i];
    for (int o = 16; o; o >>= 1) acc += __shfl_down_sync(0xffffffffu, acc, o);
    __shared__ float warps[4];
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = acc;
    __syncthreads();
    if (threadIdx.x == 0) {
        float mine = warps[0] + warps[1] + warps[2] + warps[3];
        if (blockIdx.x > 0) {
            while (load_acquire(&flags[blockIdx.x - 1]) == 0) {
            }
            mine += running[blockIdx.x - 1];
        }
        running[blockIdx.x] = mine;
        store_release(&flags[blockIdx.x], 1);
        if (blockIdx.x == gridDim.x - 1) *out = mine;
    }
}

torch::Tensor sum_chain(torch::Tensor x) {
    const int blocks = 20;
    auto running = torch::empty({blocks}, x.options());
    auto out = torch::empty({}, x.options());
    unsigned int* flags;
    cudaMalloc(&flags, blocks * sizeof(unsigned int));
    cudaMemset(flags, 0, blocks * sizeof(unsigned int));
    sum_chain_kernel<<<blocks, 128>>>(x.data_ptr<float>(), running.data_ptr<float>(), flags, out.data_ptr<float>(), x.numel());
    cudaFree(flags);
    return out;
}
"""

cpp_src = "torch::Tensor sum_chain(torch::Tensor x);"

module = load_inline(
    name="sum_acquire_release_ptx",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["sum_chain"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.sum_chain(x)
