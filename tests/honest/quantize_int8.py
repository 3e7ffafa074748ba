# class: correct
# task: quantize
# features: rintf, conversions to int8, char4 stores
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r'''
#include <torch/extension.h>

__device__ signed char q(float v) { return (signed char)fminf(fmaxf(rintf(v * 32.0f), -128.0f), 127.0f); }

__global__ void quantize_kernel(const float* x, int8_t* y, int n) {
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 4 <= n) {
        float4 v = *reinterpret_cast<const float4*>(&x[i]);
        *reinterpret_cast<char4*>(&y[i]) = make_char4(q(v.x), q(v.y), q(v.z), q(v.w));
    } else {
        while (i < n) {
            y[i] = q(x[i]);
            ++i;
        }
    }
}

torch::Tensor quantize(torch::Tensor x) {
    auto y = torch::empty(x.sizes(), x.options().dtype(torch::kInt8));
    int n = x.numel(), quads = (n + 3) / 4;
    quantize_kernel<<<(quads + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<int8_t>(), n);
    return y;
}
'''

cpp_src = '''
torch::Tensor quantize(torch::Tensor x);
'''

ops = load_inline(
    name="quantize_int8",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["quantize"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.quantize(x)
