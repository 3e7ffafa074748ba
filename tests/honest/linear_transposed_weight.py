# class: correct
# task: linear
# features: weight transposed and made contiguous by the host part, then a tiled product with bias and relu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r'''
#include <torch/extension.h>

#define TILE 16

__global__ void gemm_bias_relu(const float* A, const float* B, const float* bias, float* C, int M, int K, int N) {
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float acc = 0.f;
    for (int t = 0; t < K; t += TILE) {
        As[threadIdx.y][threadIdx.x] = row < M && t + threadIdx.x < K ? A[row * K + t + threadIdx.x] : 0.f;
        Bs[threadIdx.y][threadIdx.x] = t + threadIdx.y < K && col < N ? B[(t + threadIdx.y) * N + col] : 0.f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) acc += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = fmaxf(acc + bias[col], 0.f);
}

torch::Tensor linear_forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    auto wt = weight.t().contiguous();
    int M = x.size(0), K = x.size(1), N = wt.size(1);
    auto y = torch::empty({M, N}, x.options());
    gemm_bias_relu<<<dim3((N + TILE - 1) / TILE, (M + TILE - 1) / TILE), dim3(TILE, TILE)>>>(
        x.data_ptr<float>(), wt.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), M, K, N);
    return y;
}
'''

cpp_src = '''
torch::Tensor linear_forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias);
'''

ops = load_inline(
    name="linear_transposed_weight",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["linear_forward"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super(ModelNew, self).__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return ops.linear_forward(x, self.linear.weight, self.linear.bias)
