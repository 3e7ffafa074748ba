# class: correct
# task: matmul
# features: extra_cuda_cflags of the usual kind together: -O3, --use_fast_math, -DTILE=16, -std=c++17; extra_ldflags
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void matmul_flags_kernel(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int K, int N) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    int tiles = (K + TILE - 1) / TILE;
    for (int t = 0; t < tiles; t++) {
        int ak = t * TILE + threadIdx.x, bk = t * TILE + threadIdx.y;
        As[threadIdx.y][threadIdx.x] = (row < M && ak < K) ? __ldg(&A[row * K + ak]) : 0.0f;
        Bs[threadIdx.y][threadIdx.x] = (bk < K && col < N) ? __ldg(&B[bk * N + col]) : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}

torch::Tensor matmul_flags(torch::Tensor a, torch::Tensor b) {
    const auto M = a.size(0), K = a.size(1), N = b.size(1);
    auto c = torch::empty({M, N}, a.options());
    const dim3 block(TILE, TILE), grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmul_flags_kernel<<<grid, block>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), (int)M, (int)K, (int)N);
    return c;
}
"""

cpp_src = """
torch::Tensor matmul_flags(torch::Tensor a, torch::Tensor b);
"""

ops = load_inline(
    name="matmul_usual_flags",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["matmul_flags"],
    extra_cuda_cflags=["-O3", "--use_fast_math", "-DTILE=16", "-std=c++17"],
    extra_cflags=["-O3"],
    extra_ldflags=[""],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return ops.matmul_flags(a, b)
