# class: correct
# task: collatz
# features: divergent while loop per lane, different trip counts
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>

__global__ void collatz_kernel(const int64_t* x, int64_t* steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long v = x[i];
    int count = 0;
    while (v != 1 && count < 100) {
        if (v & 1) v = 3 * v + 1;
        else v >>= 1;
        ++count;
    }
    steps[i] = count;
}

torch::Tensor collatz(torch::Tensor x) {
    auto steps = torch::empty_like(x);
    collatz_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<int64_t>(), steps.data_ptr<int64_t>(), x.numel());
    return steps;
}
"""

CPP_SRC = """
torch::Tensor collatz(torch::Tensor x);
"""

_ext = load_inline(
    name="collatz_divergent",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["collatz"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.collatz(x)
