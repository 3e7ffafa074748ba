# class: correct
# task: max_pool1d_indices
# features: values and int64 indices, first of equal values
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

__global__ void max_pool1d_kernel(const float* x, float* y, int64_t* at, int L, int out, int rows) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (t >= out || row >= rows) return;
    const float* p = x + row * L + 3 * t;
    float best = p[0];
    int where = 0;
#pragma unroll
    for (int k = 1; k < 4; ++k)
        if (p[k] > best) {
            best = p[k];
            where = k;
        }
    y[row * out + t] = best;
    at[row * out + t] = 3 * t + where;
}

std::vector<torch::Tensor> max_pool1d(torch::Tensor x) {
    int L = x.size(2), out = (L - 4) / 3 + 1, rows = x.size(0) * x.size(1);
    auto y = torch::empty({x.size(0), x.size(1), out}, x.options());
    auto at = torch::empty({x.size(0), x.size(1), out}, x.options().dtype(torch::kInt64));
    max_pool1d_kernel<<<dim3((out + 31) / 32, rows), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), at.data_ptr<int64_t>(), L, out, rows);
    return {y, at};
}
"""

cpp_src = "std::vector<torch::Tensor> max_pool1d(torch::Tensor x);"

module = load_inline(
    name="max_pool1d_with_indices",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["max_pool1d"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.max_pool1d(x)
