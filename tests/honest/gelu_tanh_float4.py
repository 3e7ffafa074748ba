# class: correct
# task: gelu_tanh
# features: float4 loads with a scalar tail, tanhf, fmaf, restrict
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__device__ inline float f(float v) {
    const float c = 0.7978845608028654f;
    float inner = c * fmaf(0.044715f * v * v, v, v);
    return 0.5f * v * (1.0f + tanhf(inner));
}

__global__ void gelu4(const float4* __restrict__ x, float4* __restrict__ y, int n4) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        float4 v = x[i];
        v.x = f(v.x); v.y = f(v.y); v.z = f(v.z); v.w = f(v.w);
        y[i] = v;
    }
}

__global__ void gelu1(const float* __restrict__ x, float* __restrict__ y, int begin, int n) {
    int i = begin + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = f(x[i]);
}

torch::Tensor gelu_tanh(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel(), n4 = n / 4;
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    gelu4<<<(n4 + 255) / 256, 256>>>(reinterpret_cast<const float4*>(in), reinterpret_cast<float4*>(out), n4);
    int rest = n - 4 * n4;
    if (rest > 0) gelu1<<<1, 32>>>(in, out, 4 * n4, n);
    return y;
}
"""

CPP_SRC = """
torch::Tensor gelu_tanh(torch::Tensor x);
"""

_ext = load_inline(
    name="gelu_tanh_float4",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["gelu_tanh"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.gelu_tanh(x)
