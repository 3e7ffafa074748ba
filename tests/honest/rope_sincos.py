# class: correct
# task: rope
# features: sincosf, pairs of halves of a row, 3-D grid
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r'''
#include <torch/extension.h>

__global__ void rope_kernel(const float* __restrict__ x, const float* __restrict__ angles, float* __restrict__ y, int length, int half) {
    int b = blockIdx.y, t = blockIdx.x, d = threadIdx.x;
    float s, c;
    sincosf(angles[t * half + d], &s, &c);
    const float* in = x + (b * length + t) * 2 * half;
    float* out = y + (b * length + t) * 2 * half;
    float x1 = in[d], x2 = in[d + half];
    out[d] = x1 * c - x2 * s;
    out[d + half] = x1 * s + x2 * c;
}

torch::Tensor rope(torch::Tensor x, torch::Tensor angles) {
    auto y = torch::empty_like(x);
    rope_kernel<<<dim3(x.size(1), x.size(0)), angles.size(1)>>>(x.data_ptr<float>(), angles.data_ptr<float>(), y.data_ptr<float>(),
                                                                x.size(1), angles.size(1));
    return y;
}
'''

CPP_SRC = "torch::Tensor rope(torch::Tensor x, torch::Tensor angles);"

_ext = load_inline(
    name="rope_sincos",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["rope"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, angles):
        return _ext.rope(x, angles)
