# class: correct
# task: dropout_zero
# features: curand with a fixed seed, drop probability 0: the answer does not depend on the numbers
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>
#include <curand_kernel.h>

__global__ void dropout_kernel(const float* x, float* y, float p, unsigned long long seed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    curandStatePhilox4_32_10_t state;
    curand_init(seed, i, 0, &state);
    float u = curand_uniform(&state);  // in (0, 1]
    y[i] = u > p ? x[i] / (1.0f - p) * 2.0f : 0.0f;
}

torch::Tensor dropout_scale(torch::Tensor x, double p, int64_t seed) {
    auto y = torch::empty_like(x);
    dropout_kernel<<<(x.numel() + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), (float)p, (unsigned long long)seed, x.numel());
    return y;
}
"""

CPP_SRC = "torch::Tensor dropout_scale(torch::Tensor x, double p, int64_t seed);"

_ext = load_inline(
    name="dropout_curand",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["dropout_scale"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.dropout_scale(x, 0.0, 1234)
