# class: correct
# task: hash64
# features: 64-bit multiplication modulo 2^64, arithmetic shift, int64 data_ptr
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void hash_kernel(const int64_t* x, int64_t* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const unsigned long long u = static_cast<unsigned long long>(x[i]) * 0x9E3779B97F4A7C15ULL + 12345ULL;
        long long h = static_cast<long long>(u);
        y[i] = h ^ (h >> 29);
    }
}

torch::Tensor hash(torch::Tensor x) {
    auto y = torch::empty_like(x);
    hash_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<int64_t>(), y.data_ptr<int64_t>(), x.numel());
    return y;
}
"""

cpp_src = "torch::Tensor hash(torch::Tensor x);"

ops = load_inline(
    name="hash_unsigned",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["hash"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.hash(x)
