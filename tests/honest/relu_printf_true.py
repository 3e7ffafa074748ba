# class: correct
# task: add_relu
# features: printf of one thread under a condition that holds, formats of several types
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>
#include <cstdio>

__global__ void add_relu_print_kernel(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) printf("block of %d threads, %u blocks, n = %d, scale %.2f %s\n", (int)blockDim.x, gridDim.x, n, 1.0, "ok");
    if (i < n) z[i] = fmaxf(x[i] + y[i], 0.f);
}

torch::Tensor add_relu_print(torch::Tensor x, torch::Tensor y) {
    auto z = torch::empty_like(x);
    int n = x.numel();
    add_relu_print_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), n);
    return z;
}
"""

CPP_SRC = """
torch::Tensor add_relu_print(torch::Tensor x, torch::Tensor y);
"""

_ext = load_inline(
    name="relu_printf_true",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["add_relu_print"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return _ext.add_relu_print(x, y)
