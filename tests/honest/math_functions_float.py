# class: correct
# task: math_mix
# features: lgammaf, erfcf, atan2f, hypotf, asinhf, powf, log1pf, atanf
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__global__ void math_mix_kernel(const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float a = x[i], b = y[i], p = fabsf(a) + 0.5f;
    float* o = out + i;
    o[0] = lgammaf(p);
    o[n] = erfcf(a);
    o[2 * n] = atan2f(a, b);
    o[3 * n] = hypotf(a, b);
    o[4 * n] = asinhf(a);
    o[5 * n] = powf(p, b);
    o[6 * n] = log1pf(p);
    o[7 * n] = atanf(a * b);
}

torch::Tensor math_mix(torch::Tensor x, torch::Tensor y) {
    auto out = torch::empty({8, x.size(0)}, x.options());
    int n = x.size(0);
    math_mix_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}
"""

CPP_SRC = """
torch::Tensor math_mix(torch::Tensor x, torch::Tensor y);
"""

_ext = load_inline(
    name="math_functions_float",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["math_mix"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return _ext.math_mix(x, y)
