# class: correct
# task: add_relu
# features: extension built at the first forward, cached in the module, os.environ set
import os

import torch
import torch.nn as nn
from torch.utils import cpp_extension

os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "9.0")

_source = r"""
#include <torch/extension.h>

template <int ITEMS>
__global__ void add_relu_items(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
    const int base = (blockIdx.x * blockDim.x) * ITEMS + threadIdx.x;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        const int i = base + k * blockDim.x;
        if (i < n) c[i] = fmaxf(a[i] + b[i], 0.f);
    }
}

at::Tensor add_relu(const at::Tensor& a, const at::Tensor& b) {
    at::Tensor c = at::empty_like(a);
    const int n = a.numel();
    add_relu_items<4><<<(n + 511) / 512, 128>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
    return c;
}
"""

_module = None


def get_module():
    global _module
    if _module is None:
        _module = cpp_extension.load_inline(
            "relu_lazy", ["at::Tensor add_relu(const at::Tensor& a, const at::Tensor& b);"], [_source], functions=["add_relu"]
        )
    return _module


class ModelNew(nn.Module):
    def forward(self, a, b):
        with torch.no_grad():
            return get_module().add_relu(a, b)
