# class: correct
# task: mse
# features: partial sums of blocks, last addition in a second kernel, mean
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void squared_error(const float* x, const float* y, float* partial, int n) {
    __shared__ float s[256];
    float acc = 0.f;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        float d = x[i] - y[i];
        acc += d * d;
    }
    s[threadIdx.x] = acc;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = s[0];
}
__global__ void finish(const float* partial, float* loss, int blocks, int n) {
    float acc = threadIdx.x < blocks ? partial[threadIdx.x] : 0.f;
    for (int o = 16; o; o >>= 1) acc += __shfl_down_sync(0xffffffffu, acc, o);
    if (threadIdx.x == 0) *loss = acc / n;
}

torch::Tensor mse_loss(torch::Tensor x, torch::Tensor y) {
    auto partial = torch::empty({10}, x.options());
    auto loss = torch::empty({}, x.options());
    int n = x.numel();
    squared_error<<<10, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), partial.data_ptr<float>(), n);
    finish<<<1, 32>>>(partial.data_ptr<float>(), loss.data_ptr<float>(), 10, n);
    return loss;
}
"""

cpp_source = "torch::Tensor mse_loss(torch::Tensor x, torch::Tensor y);"

mse_blocks_ext = load_inline(
    name="mse_blocks",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["mse_loss"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return mse_blocks_ext.mse_loss(x, y)
