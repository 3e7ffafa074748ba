# class: correct
# task: index_add
# features: each output row gathers its sources, no atomics, block per row
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>

__global__ void index_add_kernel(const float* x, const int64_t* index, float* y, int n, int cols) {
    extern __shared__ int64_t where[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) where[i] = index[i];
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float acc = 0.f;
        for (int i = 0; i < n; ++i)
            if (where[i] == blockIdx.x) acc += x[i * cols + c];
        y[blockIdx.x * cols + c] = acc;
    }
}

torch::Tensor index_add(torch::Tensor x, torch::Tensor index) {
    const int rows = 23, n = x.size(0), cols = x.size(1);
    auto y = torch::empty({rows, cols}, x.options());
    index_add_kernel<<<rows, 32, n * sizeof(int64_t)>>>(x.data_ptr<float>(), index.data_ptr<int64_t>(), y.data_ptr<float>(), n, cols);
    return y;
}
"""

cpp_src = "torch::Tensor index_add(torch::Tensor x, torch::Tensor index);"

module = load_inline(
    name="index_add_serial",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["index_add"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, index):
        return module.index_add(x, index)
