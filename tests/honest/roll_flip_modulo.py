# class: correct
# task: roll_flip
# features: modulo of negative numbers made positive, kernel that moves data alone
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

__global__ void roll_flip_kernel(const float* x, float* y, int rows, int cols, int shift) {
    int c = threadIdx.x + blockIdx.x * blockDim.x, r = blockIdx.y;
    if (c < cols) {
        int from = ((c - shift) % cols + cols) % cols;
        y[r * cols + c] = x[(rows - 1 - r) * cols + from];
    }
}

torch::Tensor roll_flip(torch::Tensor x, int64_t shift) {
    auto y = torch::empty_like(x);
    roll_flip_kernel<<<dim3((x.size(1) + 31) / 32, x.size(0)), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1), shift);
    return y;
}
"""

cpp_src = """
torch::Tensor roll_flip(torch::Tensor x, int64_t shift);
"""

ops = load_inline(
    name="roll_flip_modulo",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["roll_flip"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.roll_flip(x, 5)
