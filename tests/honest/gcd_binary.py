# class: correct
# task: gcd
# features: binary gcd with __ffs and do-while, unsigned subtraction, extern "C" kernel
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

extern "C" __global__ void binary_gcd_kernel(const unsigned int* x, const unsigned int* y, unsigned int* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned int a = x[i], b = y[i];
    if (a == 0 || b == 0) {
        z[i] = a | b;
        return;
    }
    int shift = __ffs(a | b) - 1;
    a >>= __ffs(a) - 1;
    do {
        b >>= __ffs(b) - 1;
        if (a > b) {
            unsigned int t = a;
            a = b;
            b = t;
        }
        b -= a;
    } while (b != 0);
    z[i] = a << shift;
}

torch::Tensor binary_gcd(torch::Tensor x, torch::Tensor y) {
    auto z = torch::empty_like(x);
    binary_gcd_kernel<<<(x.numel() + 95) / 96, 96>>>(reinterpret_cast<const unsigned int*>(x.data_ptr<int>()),
                                                    reinterpret_cast<const unsigned int*>(y.data_ptr<int>()),
                                                    reinterpret_cast<unsigned int*>(z.data_ptr<int>()), x.numel());
    return z;
}
"""

cpp_src = """
torch::Tensor binary_gcd(torch::Tensor x, torch::Tensor y);
"""

ops = load_inline(
    name="gcd_binary",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["binary_gcd"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return ops.binary_gcd(x, y)
