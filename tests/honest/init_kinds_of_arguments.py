# class: correct
# task: init_kinds
# features: constructor arguments of many kinds, a random tensor among them
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

__global__ void affine_kernel(const float* x, const float* kernel, float* y, float offset, float scale, float steps, int n,
                              int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (x[i] + offset) * scale * kernel[i % width] + steps;
}

torch::Tensor affine(torch::Tensor x, torch::Tensor kernel, double offset, double scale, double steps) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    affine_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), kernel.data_ptr<float>(), y.data_ptr<float>(), offset,
                                            scale, steps, n, x.size(1));
    return y;
}
"""

module = load_inline(
    name="init_kinds",
    cpp_sources="torch::Tensor affine(torch::Tensor x, torch::Tensor kernel, double offset, double scale, double steps);",
    cuda_sources=source,
    functions=["affine"],
)


class ModelNew(nn.Module):
    def __init__(self, shape, offset, kernel, mode, scale, table, options, low=None):
        super().__init__()
        if shape != (16, 30) or mode != "sum" or low is not None or options != {"keep": True, "steps": 4}:
            raise ValueError("other arguments than the reference's")
        self.offset, self.scale = offset, scale
        self.register_buffer("kernel", kernel)
        self.steps = sum(table) + options["steps"]

    def forward(self, x):
        return module.affine(x, self.kernel, self.offset, self.scale, self.steps)
