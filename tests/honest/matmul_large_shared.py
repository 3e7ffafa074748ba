# class: correct
# task: matmul_even
# features: more than 48 KB of dynamic shared memory by cudaFuncSetAttribute, several arrays carved out
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

// A slab of 64 rows of A and all of B's 64 columns stay in shared memory: (64 + 64) * K * 4 bytes.
__global__ void matmul_large_kernel(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int K, int N) {
    extern __shared__ float smem[];
    float* as = smem;
    float* bs = smem + 64 * (K + 1);
    const int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
    for (int i = threadIdx.x; i < 64 * K; i += blockDim.x) as[(i / K) * (K + 1) + i % K] = A[(row0 + i / K) * K + i % K];
    for (int i = threadIdx.x; i < 64 * K; i += blockDim.x) bs[i] = B[(i / 64) * N + col0 + i % 64];
    __syncthreads();
    for (int o = threadIdx.x; o < 64 * 64; o += blockDim.x) {
        const int m = o / 64, n = o % 64;
        float acc = 0.f;
        for (int k = 0; k < K; ++k) acc += as[m * (K + 1) + k] * bs[k * 64 + n];
        C[(row0 + m) * N + col0 + n] = acc;
    }
}

torch::Tensor matmul_large(torch::Tensor a, torch::Tensor b) {
    const int M = a.size(0), K = a.size(1), N = b.size(1);
    auto c = torch::empty({M, N}, a.options());
    const int bytes = (64 * (K + 1) + 64 * K) * sizeof(float);
    cudaError_t error = cudaFuncSetAttribute(matmul_large_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    TORCH_CHECK(error == cudaSuccess, "cannot have ", bytes, " bytes of shared memory: ", cudaGetErrorString(error));
    matmul_large_kernel<<<dim3(N / 64, M / 64), 256, bytes>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), M, K, N);
    return c;
}
"""

cpp_src = """
torch::Tensor matmul_large(torch::Tensor a, torch::Tensor b);
"""

module = load_inline(
    name="matmul_large_shared",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["matmul_large"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return module.matmul_large(a, b)
