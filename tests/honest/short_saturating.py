# class: correct
# task: short_clamp
# features: int16 inputs and outputs, short2 vectors, __vaddss2 saturating addition, tail
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void add_saturated_kernel(const unsigned int* x, const unsigned int* y, unsigned int* z, const short* xt, const short* yt, short* zt, int pairs, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs) z[i] = __vaddss2(x[i], y[i]);
    if (i == 0 && n % 2) {
        int s = (int)xt[n - 1] + yt[n - 1];
        zt[n - 1] = (short)max(-32768, min(32767, s));
    }
}

torch::Tensor add_saturated(torch::Tensor x, torch::Tensor y) {
    auto z = torch::empty_like(x);
    int n = x.numel(), pairs = n / 2;
    add_saturated_kernel<<<(pairs + 127) / 128, 128>>>((const unsigned int*)x.data_ptr(), (const unsigned int*)y.data_ptr(), (unsigned int*)z.data_ptr(),
                                                       x.data_ptr<int16_t>(), y.data_ptr<int16_t>(), z.data_ptr<int16_t>(), pairs, n);
    return z;
}
"""

cpp_source = "torch::Tensor add_saturated(torch::Tensor x, torch::Tensor y);"

short_saturating_ext = load_inline(
    name="short_saturating",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["add_saturated"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return short_saturating_ext.add_saturated(x, y)
