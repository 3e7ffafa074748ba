# class: correct
# task: gather
# features: gather along a row with int64 indices, device assert that holds
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <cassert>

__global__ void gather_kernel(const float* x, const int64_t* index, float* y, int cols, int picks, int total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int64_t c = index[i];
    assert(c >= 0 && c < cols);
    y[i] = x[(i / picks) * cols + c];
}

torch::Tensor gather_columns(torch::Tensor x, torch::Tensor index) {
    auto y = torch::empty(index.sizes(), x.options());
    int total = index.numel();
    gather_kernel<<<(total + 63) / 64, 64>>>(x.data_ptr<float>(), index.data_ptr<int64_t>(), y.data_ptr<float>(), x.size(1), index.size(1), total);
    return y;
}
"""

cpp_source = """
torch::Tensor gather_columns(torch::Tensor x, torch::Tensor index);
"""

gather_columns_ext = load_inline(
    name="gather_columns",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["gather_columns"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, index):
        return gather_columns_ext.gather_columns(x, index)
