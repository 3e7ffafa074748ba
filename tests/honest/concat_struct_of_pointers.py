# class: correct
# task: concat
# features: a struct with arrays of pointers and sizes as a kernel argument
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

struct Parts {
    const float* data[3];
    int cols[3];
    int begin[4];
};

__global__ void concat_kernel(Parts parts, float* y, int rows) {
    int total = parts.begin[3];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * total) return;
    int r = i / total, c = i % total, p = 0;
    while (c >= parts.begin[p + 1]) ++p;
    y[i] = parts.data[p][r * parts.cols[p] + c - parts.begin[p]];
}

torch::Tensor concat3(torch::Tensor a, torch::Tensor b, torch::Tensor c) {
    Parts parts{};
    const torch::Tensor* tensors[3] = {&a, &b, &c};
    for (int k = 0; k < 3; ++k) {
        parts.data[k] = tensors[k]->data_ptr<float>();
        parts.cols[k] = tensors[k]->size(1);
        parts.begin[k + 1] = parts.begin[k] + parts.cols[k];
    }
    int rows = a.size(0);
    auto y = torch::empty({rows, parts.begin[3]}, a.options());
    concat_kernel<<<(y.numel() + 127) / 128, 128>>>(parts, y.data_ptr<float>(), rows);
    return y;
}
"""

cpp_source = "torch::Tensor concat3(torch::Tensor a, torch::Tensor b, torch::Tensor c);"

concat_struct_of_pointers_ext = load_inline(
    name="concat_struct_of_pointers",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["concat3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b, c):
        return concat_struct_of_pointers_ext.concat3(a, b, c)
