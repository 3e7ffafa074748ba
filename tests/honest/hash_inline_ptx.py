# class: correct
# task: hash64
# features: inline PTX mul.lo.s64, add.s64, shr.s64, xor.b64
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>

__global__ void hash_ptx_kernel(const long long* x, long long* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        long long h, s;
        asm("mul.lo.s64 %0, %1, %2;" : "=l"(h) : "l"(x[i]), "l"(-7046029254386353131LL));
        asm("add.s64 %0, %0, %1;" : "+l"(h) : "l"(12345LL));
        asm("shr.s64 %0, %1, 29;\n\txor.b64 %0, %0, %1;" : "=&l"(s) : "l"(h));
        y[i] = s;
    }
}

torch::Tensor hash_ptx(torch::Tensor x) {
    auto y = torch::empty_like(x);
    hash_ptx_kernel<<<(x.numel() + 63) / 64, 64>>>((const long long*)x.data_ptr<int64_t>(), (long long*)y.data_ptr<int64_t>(), x.numel());
    return y;
}
"""

cpp_src = """
torch::Tensor hash_ptx(torch::Tensor x);
"""

module = load_inline(
    name="hash_inline_ptx",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["hash_ptx"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.hash_ptx(x)
