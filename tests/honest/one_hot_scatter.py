# class: correct
# task: one_hot
# features: writes ones into torch::zeros, int64 output left zero elsewhere
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void one_hot_kernel(const int64_t* x, int64_t* y, int n, int classes) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i * classes + x[i]] = 1;
}

torch::Tensor one_hot(torch::Tensor x, int64_t classes) {
    auto y = torch::zeros({x.size(0), classes}, x.options());
    one_hot_kernel<<<(x.size(0) + 31) / 32, 32>>>(x.data_ptr<int64_t>(), y.data_ptr<int64_t>(), x.size(0), classes);
    return y;
}
"""

cpp_source = "torch::Tensor one_hot(torch::Tensor x, int64_t classes);"

one_hot_scatter_ext = load_inline(
    name="one_hot_scatter",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["one_hot"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return one_hot_scatter_ext.one_hot(x, 19)
