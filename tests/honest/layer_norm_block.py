# class: correct
# task: layer_norm
# features: module parameters used by a kernel, nn.LayerNorm kept as submodule, two-pass variance
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r'''
#include <torch/extension.h>

__device__ float block_sum(float v, float* s) {
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
    __syncthreads();
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    float total = 0.f;
    for (int w = 0; w < blockDim.x / 32; ++w) total += s[w];
    return total;
}

__global__ void layer_norm_kernel(const float* x, const float* gamma, const float* beta, float* y, int cols, float eps) {
    __shared__ float s[8];
    const float* p = x + blockIdx.x * cols;
    float acc = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) acc += p[c];
    float mean = block_sum(acc, s) / cols;
    acc = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float d = p[c] - mean;
        acc += d * d;
    }
    float rstd = rsqrtf(block_sum(acc, s) / cols + eps);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[blockIdx.x * cols + c] = (p[c] - mean) * rstd * gamma[c] + beta[c];
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    auto y = torch::empty_like(x);
    int cols = x.size(-1), rows = x.numel() / cols;
    layer_norm_kernel<<<rows, 64>>>(x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), cols, (float)eps);
    return y;
}
'''

cpp_source = "torch::Tensor layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps);"

layer_norm_block_ext = load_inline(
    name="layer_norm_block",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["layer_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = nn.LayerNorm(size)

    def forward(self, x):
        return layer_norm_block_ext.layer_norm(x, self.norm.weight, self.norm.bias, self.norm.eps)
