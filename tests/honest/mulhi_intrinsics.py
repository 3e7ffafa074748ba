# class: correct
# task: mulhi
# features: __umulhi, mad.wide by inline PTX agrees
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void mulhi_kernel(const int64_t* a, const int64_t* b, int64_t* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned int x = (unsigned int)a[i], y = (unsigned int)b[i];
        unsigned long long wide;
        asm("mul.wide.u32 %0, %1, %2;" : "=l"(wide) : "r"(x), "r"(y));
        c[i] = (i & 1) ? (int64_t)__umulhi(x, y) : (int64_t)(wide >> 32);
    }
}

torch::Tensor mulhi(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty_like(a);
    mulhi_kernel<<<(a.numel() + 255) / 256, 256>>>(a.data_ptr<int64_t>(), b.data_ptr<int64_t>(), c.data_ptr<int64_t>(), a.numel());
    return c;
}
"""

cpp_source = """
torch::Tensor mulhi(torch::Tensor a, torch::Tensor b);
"""

mulhi_intrinsics_ext = load_inline(
    name="mulhi_intrinsics",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["mulhi"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return mulhi_intrinsics_ext.mulhi(a, b)
