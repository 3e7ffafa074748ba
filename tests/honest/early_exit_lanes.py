# class: correct
# task: column_sum
# features: warps without columns leave before the barrier as a whole block, grid larger than needed
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void column_sum_early_kernel(const float* x, float* y, int rows, int cols) {
    if (blockIdx.x >= cols) return;  // the whole block
    __shared__ float s[64];
    float acc = 0.f;
    for (int r = threadIdx.x; r < rows; r += 64) acc += x[r * cols + blockIdx.x];
    s[threadIdx.x] = acc;
    __syncthreads();
    for (int k = 32; k > 0; k >>= 1) {
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = s[0];
}

torch::Tensor column_sum_early(torch::Tensor x) {
    auto y = torch::empty({x.size(1)}, x.options());
    column_sum_early_kernel<<<128, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
"""

cpp_source = """
torch::Tensor column_sum_early(torch::Tensor x);
"""

early_exit_lanes_ext = load_inline(
    name="early_exit_lanes",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["column_sum_early"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return early_exit_lanes_ext.column_sum_early(x)
