# class: correct
# task: matmul_half
# features: fp16 inputs, fp32 accumulation, half tiles in shared memory, __half2float
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cuda_fp16.h>

__global__ void hgemm_kernel(const __half* A, const __half* B, __half* C, int M, int K, int N) {
    __shared__ __half As[16][16];
    __shared__ __half Bs[16][16];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    const __half zero = __float2half(0.0f);
    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += 16) {
        As[y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : zero;
        Bs[y][x] = k0 + y < K && col < N ? B[(k0 + y) * N + col] : zero;
        __syncthreads();
        for (int k = 0; k < 16; ++k) acc += __half2float(As[y][k]) * __half2float(Bs[k][x]);
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = __float2half_rn(acc);
}

torch::Tensor hgemm(torch::Tensor a, torch::Tensor b) {
    const int M = a.size(0), K = a.size(1), N = b.size(1);
    auto c = torch::empty({M, N}, a.options());
    hgemm_kernel<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(
        reinterpret_cast<const __half*>(a.data_ptr<at::Half>()), reinterpret_cast<const __half*>(b.data_ptr<at::Half>()),
        reinterpret_cast<__half*>(c.data_ptr<at::Half>()), M, K, N);
    return c;
}
"""

cpp_src = """
torch::Tensor hgemm(torch::Tensor a, torch::Tensor b);
"""

ops = load_inline(
    name="matmul_half_fp32_sum",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["hgemm"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return ops.hgemm(a, b)
