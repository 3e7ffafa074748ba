import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r'''
#include <torch/extension.h>

#define TILE 16

__global__ void product(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float a[TILE][TILE], b[TILE][TILE + 1];
    A += (long)blockIdx.z * @A_BATCH@;
    B += (long)blockIdx.z * @B_BATCH@;
    C += (long)blockIdx.z * M * N;
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float s = 0.0f;
    for (int first = 0; first < K; first += TILE) {
        int k = first + x, i = row;
        a[y][x] = i < M && k < K ? A[@A_PLACE@] : 0.0f;
        k = first + y;
        int j = column;
        b[y][x] = k < K && j < N ? B[@B_PLACE@] : 0.0f;
        __syncthreads();
        for (int t = 0; t < TILE; ++t) s += a[y][t] * b[t][x];
        __syncthreads();
    }
    if (row < M && column < N) C[(long)row * N + column] = @VALUE@;
}

torch::Tensor run(torch::Tensor A, torch::Tensor B) {
    TORCH_CHECK(A.is_contiguous() && B.is_contiguous(), "inputs must be contiguous");
    int M = @M@, N = @N@, K = @K@;
    long batches = @BATCHES@;
    auto C = torch::empty(@SHAPE@, A.options());
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE, batches), block(TILE, TILE);
    product<<<grid, block>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, N, K);
    return C;
}
'''
module = load_inline(name="product", cpp_sources="torch::Tensor run(torch::Tensor A, torch::Tensor B);", cuda_sources=source,
                     functions=["run"])


class ModelNew(nn.Module):
    def __init__(self, *arguments):
        super().__init__()

    def forward(self, A, B):
        return module.run(A, B)
