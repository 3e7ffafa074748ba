# class: correct
# task: matmul
# features: cp.async of 4 bytes with zero fill by the source size (odd sizes), wait_all
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

// Copies 4 bytes, or fills with zeros if the source lies outside.
__device__ __forceinline__ void copy_or_zero(float* shared, const float* global, bool inside) {
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    const int bytes = inside ? 4 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;\n" ::"r"(to), "l"(global), "r"(bytes) : "memory");
}

__global__ void matmul_zfill_kernel(const float* A, const float* B, float* C, int M, int K, int N) {
    __shared__ float As[16][16], Bs[16][16];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float acc = 0.f;
    for (int k0 = 0; k0 < K; k0 += 16) {
        const bool a_in = row < M && k0 + x < K, b_in = k0 + y < K && col < N;
        copy_or_zero(&As[y][x], a_in ? &A[row * K + k0 + x] : A, a_in);
        copy_or_zero(&Bs[y][x], b_in ? &B[(k0 + y) * N + col] : B, b_in);
        asm volatile("cp.async.wait_all;\n" ::: "memory");
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; ++k) acc = fmaf(As[y][k], Bs[k][x], acc);
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = acc;
}

torch::Tensor matmul_zfill(torch::Tensor a, torch::Tensor b) {
    const int M = a.size(0), K = a.size(1), N = b.size(1);
    auto c = torch::empty({M, N}, a.options());
    matmul_zfill_kernel<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), M, K, N);
    return c;
}
"""

cpp_src = "torch::Tensor matmul_zfill(torch::Tensor a, torch::Tensor b);"

ops = load_inline(
    name="matmul_cp_async_sizes",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["matmul_zfill"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return ops.matmul_zfill(a, b)
