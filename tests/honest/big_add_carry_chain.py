# class: correct
# task: big_add
# features: add.cc, addc.cc, addc in one inline PTX block
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

__global__ void big_add_kernel(const long long* a, const long long* b, long long* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned int x[4], y[4], r[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        x[k] = (unsigned int)a[4 * i + k];
        y[k] = (unsigned int)b[4 * i + k];
    }
    asm("add.cc.u32 %0, %4, %8;\n\t"
        "addc.cc.u32 %1, %5, %9;\n\t"
        "addc.cc.u32 %2, %6, %10;\n\t"
        "addc.u32 %3, %7, %11;"
        : "=&r"(r[0]), "=&r"(r[1]), "=&r"(r[2]), "=&r"(r[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]));
#pragma unroll
    for (int k = 0; k < 4; ++k) c[4 * i + k] = r[k];
}

torch::Tensor big_add(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty_like(a);
    int n = a.size(0);
    big_add_kernel<<<(n + 63) / 64, 64>>>((const long long*)a.data_ptr<int64_t>(), (const long long*)b.data_ptr<int64_t>(), (long long*)c.data_ptr<int64_t>(), n);
    return c;
}
"""

cpp_src = "torch::Tensor big_add(torch::Tensor a, torch::Tensor b);"

ops = load_inline(
    name="big_add_carry_chain",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["big_add"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return ops.big_add(a, b)
