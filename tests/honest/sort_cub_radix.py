# class: correct
# task: sort_int
# features: cub::BlockRadixSort, blocked to striped, padding with the largest integer
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cub/cub.cuh>
#include <climits>

__global__ void cub_sort_kernel(const int* x, int* y, int n) {
    using Sort = cub::BlockRadixSort<int, 256, 4>;
    __shared__ typename Sort::TempStorage temp;
    int keys[4];
    for (int k = 0; k < 4; ++k) {
        const int i = threadIdx.x * 4 + k;
        keys[k] = i < n ? x[i] : INT_MAX;
    }
    Sort(temp).SortBlockedToStriped(keys);
    for (int k = 0; k < 4; ++k) {
        const int i = k * 256 + threadIdx.x;
        if (i < n) y[i] = keys[k];
    }
}

torch::Tensor cub_sort(torch::Tensor x) {
    TORCH_CHECK(x.numel() <= 1024, "at most 1024 elements");
    auto y = torch::empty_like(x);
    cub_sort_kernel<<<1, 256>>>(x.data_ptr<int>(), y.data_ptr<int>(), x.numel());
    return y;
}
"""

cpp_src = "torch::Tensor cub_sort(torch::Tensor x);"

ops = load_inline(
    name="sort_cub_radix",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["cub_sort"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.cub_sort(x)
