# class: correct
# task: row_sum
# features: shared-memory tree, dynamic shared memory
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

extern __shared__ float partial[];

__global__ void row_sum_tree_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
    const int tid = threadIdx.x;
    const float* row = x + blockIdx.x * cols;
    float acc = 0.0f;
    for (int c = tid; c < cols; c += blockDim.x) acc += row[c];
    partial[tid] = acc;
    __syncthreads();
    for (unsigned int s = blockDim.x >> 1; s > 0; s >>= 1) {
        if (tid < s) partial[tid] += partial[tid + s];
        __syncthreads();
    }
    if (tid == 0) y[blockIdx.x] = partial[0];
}

torch::Tensor row_sum_tree(torch::Tensor x) {
    const int threads = 128;
    auto y = torch::empty({x.size(0)}, x.options());
    row_sum_tree_kernel<<<x.size(0), threads, threads * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

cpp_src = "torch::Tensor row_sum_tree(torch::Tensor x);"

ops = load_inline(
    name="row_sum_tree",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["row_sum_tree"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.row_sum_tree(x)
