# class: correct
# task: sort_rows
# features: odd-even transposition, one launch a phase, in-place on a clone
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__global__ void phase_kernel(float* x, int rows, int cols, int parity) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, pairs = (cols - parity) / 2;
    if (i >= rows * pairs) return;
    float* p = x + (i / pairs) * cols + parity + 2 * (i % pairs);
    float a = p[0], b = p[1];
    if (a > b) {
        p[0] = b;
        p[1] = a;
    }
}

void odd_even_sort(torch::Tensor x) {
    int rows = x.size(0), cols = x.size(1);
    for (int phase = 0; phase < cols; ++phase) {
        int pairs = rows * ((cols - phase % 2) / 2);
        phase_kernel<<<(pairs + 255) / 256, 256>>>(x.data_ptr<float>(), rows, cols, phase % 2);
    }
}
"""

CPP_SRC = "void odd_even_sort(torch::Tensor x);"

_ext = load_inline(
    name="sort_odd_even",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["odd_even_sort"],
    verbose=False,
)


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.clone()
        _ext.odd_even_sort(y)
        return y
