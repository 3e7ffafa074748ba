# class: correct
# task: fma3
# features: two load_inline calls in one file, two kernels in sequence, intermediate tensor
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

mul_source = """
#include <torch/extension.h>
__global__ void mul_kernel(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] * b[i];
}
torch::Tensor mul(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty_like(a);
    mul_kernel<<<(a.numel() + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), a.numel());
    return c;
}
"""
add_source = """
#include <torch/extension.h>
__global__ void kernel(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
torch::Tensor add(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty_like(a);
    kernel<<<(a.numel() + 127) / 128, 128>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), a.numel());
    return c;
}
"""

mul_ext = load_inline(name="honest_mul", cpp_sources="torch::Tensor mul(torch::Tensor a, torch::Tensor b);",
                      cuda_sources=mul_source, functions=["mul"])
add_ext = load_inline(name="honest_add", cpp_sources="torch::Tensor add(torch::Tensor a, torch::Tensor b);",
                      cuda_sources=add_source, functions=["add"])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.mul = mul_ext
        self.add = add_ext

    def forward(self, x, y, z):
        return self.add.add(self.mul.mul(x, y), z)
