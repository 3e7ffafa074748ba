# class: correct
# task: gcd
# features: recursive device function, tail recursion, noinline
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

__device__ __noinline__ int gcd_of(int a, int b) {
    if (b == 0) return a;
    return gcd_of(b, a % b);
}

__global__ void gcd_kernel(const int* x, const int* y, int* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = gcd_of(x[i], y[i]);
}

torch::Tensor gcd(torch::Tensor x, torch::Tensor y) {
    auto z = torch::empty_like(x);
    gcd_kernel<<<(x.numel() + 127) / 128, 128>>>(x.data_ptr<int>(), y.data_ptr<int>(), z.data_ptr<int>(), x.numel());
    return z;
}
"""

cpp_src = "torch::Tensor gcd(torch::Tensor x, torch::Tensor y);"

module = load_inline(
    name="gcd_recursive",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["gcd"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return module.gcd(x, y)
