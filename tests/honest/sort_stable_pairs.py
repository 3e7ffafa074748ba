# class: correct
# task: sort_pairs
# features: stable rank sort, values and int64 indices, ties by index
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>
#include <tuple>

__global__ void stable_rank_kernel(const float* x, float* values, int64_t* indices, int cols) {
    __shared__ float s[64];
    const int i = threadIdx.x;
    s[i] = x[blockIdx.x * cols + i];
    __syncthreads();
    const float v = s[i];
    int rank = 0;
#pragma unroll 4
    for (int j = 0; j < cols; ++j) rank += s[j] < v || (s[j] == v && j < i);
    values[blockIdx.x * cols + rank] = v;
    indices[blockIdx.x * cols + rank] = i;
}

std::tuple<torch::Tensor, torch::Tensor> sort_with_indices(torch::Tensor x) {
    TORCH_CHECK(x.size(1) == 64, "rows of 64 expected");
    auto values = torch::empty_like(x);
    auto indices = torch::empty(x.sizes(), x.options().dtype(torch::kLong));
    stable_rank_kernel<<<x.size(0), 64>>>(x.data_ptr<float>(), values.data_ptr<float>(), indices.data_ptr<int64_t>(), x.size(1));
    return std::make_tuple(values, indices);
}
"""

cpp_src = """
std::tuple<torch::Tensor, torch::Tensor> sort_with_indices(torch::Tensor x);
"""

module = load_inline(
    name="sort_stable_pairs",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["sort_with_indices"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.sort_with_indices(x)
