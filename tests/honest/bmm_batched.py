# class: correct
# task: bmm
# features: batch in blockIdx.z, strides of the batches, shared tiles
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

#define TS 16

__global__ void bmm_kernel(const float* A, const float* B, float* C, int M, int K, int N, int64_t sa, int64_t sb, int64_t sc) {
    __shared__ float As[TS][TS + 1], Bs[TS][TS + 1];
    A += blockIdx.z * sa;
    B += blockIdx.z * sb;
    C += blockIdx.z * sc;
    int row = blockIdx.y * TS + threadIdx.y, col = blockIdx.x * TS + threadIdx.x;
    float acc = 0.f;
    for (int k0 = 0; k0 < K; k0 += TS) {
        As[threadIdx.y][threadIdx.x] = (row < M && k0 + threadIdx.x < K) ? A[row * K + k0 + threadIdx.x] : 0.f;
        Bs[threadIdx.y][threadIdx.x] = (col < N && k0 + threadIdx.y < K) ? B[(k0 + threadIdx.y) * N + col] : 0.f;
        __syncthreads();
        for (int k = 0; k < TS; ++k) acc += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = acc;
}

torch::Tensor bmm(torch::Tensor a, torch::Tensor b) {
    auto batch = a.size(0);
    int M = a.size(1), K = a.size(2), N = b.size(2);
    auto c = torch::empty({batch, M, N}, a.options());
    dim3 grid((N + TS - 1) / TS, (M + TS - 1) / TS, batch);
    bmm_kernel<<<grid, dim3(TS, TS)>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), M, K, N, a.stride(0), b.stride(0), c.stride(0));
    return c;
}
"""

cpp_source = "torch::Tensor bmm(torch::Tensor a, torch::Tensor b);"

bmm_batched_ext = load_inline(
    name="bmm_batched",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["bmm"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return bmm_batched_ext.bmm(a, b)
