# class: correct
# task: median
# features: selection by counting, goto out of nested loops, lower median
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__global__ void median_kernel(const float* x, float* y, int cols) {
    const float* row = x + blockIdx.x * cols;
    const int wanted = (cols - 1) / 2;
    float candidate;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        candidate = row[c];
        int less = 0, equal = 0;
        for (int j = 0; j < cols; ++j) {
            if (row[j] < candidate) ++less;
            else if (row[j] == candidate) ++equal;
            if (less > wanted) goto next;
        }
        if (less <= wanted && wanted < less + equal) goto found;
    next:;
    }
    return;
found:
    y[blockIdx.x] = candidate;
}

torch::Tensor median(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    median_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

CPP_SRC = "torch::Tensor median(torch::Tensor x);"

_ext = load_inline(
    name="median_goto",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["median"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.median(x)
