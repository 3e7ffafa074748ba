# class: correct
# task: matmul_even
# features: cuda::barrier in shared memory (mbarrier) in place of __syncthreads, arrival tokens
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>
#include <cuda/barrier>
#include <utility>

using block_barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void matmul_mbarrier_kernel(const float* A, const float* B, float* C, int K, int N) {
    __shared__ float As[16][17], Bs[16][17];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ block_barrier filled;
    __shared__ block_barrier used;
    const int x = threadIdx.x, y = threadIdx.y;
    if (x == 0 && y == 0) {
        init(&filled, 256);
        init(&used, 256);
    }
    __syncthreads();
    const int row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float acc = 0.f;
    for (int k0 = 0; k0 < K; k0 += 16) {
        As[y][x] = A[row * K + k0 + x];
        Bs[y][x] = B[(k0 + y) * N + col];
        filled.arrive_and_wait();
        for (int k = 0; k < 16; ++k) acc += As[y][k] * Bs[k][x];
        block_barrier::arrival_token token = used.arrive();
        used.wait(std::move(token));
    }
    C[row * N + col] = acc;
}

torch::Tensor matmul_mbarrier(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty({a.size(0), b.size(1)}, a.options());
    matmul_mbarrier_kernel<<<dim3(b.size(1) / 16, a.size(0) / 16), dim3(16, 16)>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), a.size(1), b.size(1));
    return c;
}
"""

CPP_SRC = "torch::Tensor matmul_mbarrier(torch::Tensor a, torch::Tensor b);"

_ext = load_inline(
    name="matmul_barrier",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["matmul_mbarrier"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return _ext.matmul_mbarrier(a, b)
