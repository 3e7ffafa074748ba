# class: correct
# task: add_relu
# features: printf, assert and __trap in branches never taken
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <assert.h>
#include <stdio.h>

__global__ void add_relu_checked_kernel(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < 0) {
        printf("bad size %d\n", n);
        __trap();
    }
    if (i >= n) return;
    assert(blockDim.x <= 1024 && "too many threads");
    float s = x[i] + y[i];
    if (isnan(s)) printf("not a number at %d\n", i);
    z[i] = s > 0.f ? s : 0.f;
}

torch::Tensor add_relu_checked(torch::Tensor x, torch::Tensor y) {
    auto z = torch::empty_like(x);
    int n = x.numel();
    add_relu_checked_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), n);
    return z;
}
"""

cpp_src = """
torch::Tensor add_relu_checked(torch::Tensor x, torch::Tensor y);
"""

module = load_inline(
    name="relu_debug_branches",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["add_relu_checked"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return module.add_relu_checked(x, y)
