# class: correct
# task: min_max
# features: gpuAtomicMin and gpuAtomicMax on floats
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>
#include <ATen/cuda/Atomic.cuh>
#include <limits>
#include <vector>

__global__ void extremes_kernel(const float* in, float* least, float* most, int n) {
    float low = INFINITY, high = -INFINITY;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        low = fminf(low, in[i]);
        high = fmaxf(high, in[i]);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        low = fminf(low, __shfl_xor_sync(0xffffffffu, low, offset));
        high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, offset));
    }
    if (threadIdx.x % 32 == 0) {
        gpuAtomicMin(least, low);
        gpuAtomicMax(most, high);
    }
}

std::vector<torch::Tensor> extremes(torch::Tensor x) {
    const float infinity = std::numeric_limits<float>::infinity();
    auto least = torch::full({}, infinity, x.options());
    auto most = torch::full({}, -infinity, x.options());
    extremes_kernel<<<9, 96>>>(x.data_ptr<float>(), least.data_ptr<float>(), most.data_ptr<float>(),
                               (int)x.numel());
    return {least, most};
}
"""

ext = load_inline(
    name="atomics_of_torch_extremes",
    cpp_sources="std::vector<torch::Tensor> extremes(torch::Tensor x);",
    cuda_sources=CUDA_SRC,
    functions=["extremes"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ext.extremes(x)
