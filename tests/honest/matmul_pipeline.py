# class: correct
# task: matmul_even
# features: cuda_pipeline.h: __pipeline_memcpy_async, commit, wait_prior, double buffer
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>
#include <cuda_pipeline.h>

constexpr int T = 16;

__global__ void matmul_pipe_kernel(const float* A, const float* B, float* C, int M, int K, int N) {
    __shared__ float As[2][T][T], Bs[2][T][T];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    __pipeline_memcpy_async(&As[0][y][x], &A[row * K + x], sizeof(float));
    __pipeline_memcpy_async(&Bs[0][y][x], &B[y * N + col], sizeof(float));
    __pipeline_commit();
    float acc = 0.f;
    int stage = 0;
    for (int k0 = 0; k0 < K; k0 += T) {
        const bool more = k0 + T < K;
        if (more) {
            __pipeline_memcpy_async(&As[stage ^ 1][y][x], &A[row * K + k0 + T + x], sizeof(float));
            __pipeline_memcpy_async(&Bs[stage ^ 1][y][x], &B[(k0 + T + y) * N + col], sizeof(float));
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < T; ++k) acc += As[stage][y][k] * Bs[stage][k][x];
        __syncthreads();
        stage ^= 1;
    }
    C[row * N + col] = acc;
}

torch::Tensor matmul_pipe(torch::Tensor a, torch::Tensor b) {
    const int M = a.size(0), K = a.size(1), N = b.size(1);
    TORCH_CHECK(M % T == 0 && N % T == 0 && K % T == 0);
    auto c = torch::empty({M, N}, a.options());
    matmul_pipe_kernel<<<dim3(N / T, M / T), dim3(T, T)>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), M, K, N);
    return c;
}
"""

cpp_src = """
torch::Tensor matmul_pipe(torch::Tensor a, torch::Tensor b);
"""

module = load_inline(
    name="matmul_pipeline",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["matmul_pipe"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return module.matmul_pipe(a, b)
