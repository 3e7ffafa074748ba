# class: correct
# task: row_sum
# features: recursive device function (pairwise sum), thread per row
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>

__device__ float pairwise(const float* p, int n) {
    if (n <= 8) {
        float acc = 0.0f;
        for (int i = 0; i < n; ++i) acc += p[i];
        return acc;
    }
    int left = n / 2;
    return pairwise(p, left) + pairwise(p + left, n - left);
}

__global__ void row_sum_pairwise_kernel(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) y[r] = pairwise(x + r * cols, cols);
}

torch::Tensor row_sum_pairwise(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    row_sum_pairwise_kernel<<<(x.size(0) + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
"""

cpp_src = """
torch::Tensor row_sum_pairwise(torch::Tensor x);
"""

module = load_inline(
    name="row_sum_recursion",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["row_sum_pairwise"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.row_sum_pairwise(x)
