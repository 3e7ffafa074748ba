# class: correct
# task: bit_tricks
# features: __popc, __brev, __byte_perm, __clz on 32-bit words held in int64
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__global__ void bits_kernel(const int64_t* x, int64_t* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned int w = static_cast<unsigned int>(x[i]);
        y[i] = __popc(w);
        y[n + i] = __brev(w);
        y[2 * n + i] = __byte_perm(w, 0, 0x0123);
        y[3 * n + i] = __clz(w);
    }
}

torch::Tensor bits(torch::Tensor x) {
    auto y = torch::empty({4, x.size(0)}, x.options());
    int n = x.size(0);
    bits_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<int64_t>(), y.data_ptr<int64_t>(), n);
    return y;
}
"""

CPP_SRC = "torch::Tensor bits(torch::Tensor x);"

_ext = load_inline(
    name="bits_intrinsics",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["bits"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.bits(x)
