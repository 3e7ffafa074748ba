# class: correct
# task: transpose
# features: kernel copies from a transposed view by its strides, grid-stride loops in two dimensions
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

__global__ void strided_copy(const float* in, float* out, int rows, int cols, int is0, int is1, int os0, int os1) {
    for (int r = blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += gridDim.y * blockDim.y)
        for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < cols; c += gridDim.x * blockDim.x)
            out[r * os0 + c * os1] = in[r * is0 + c * is1];
}

torch::Tensor transpose_by_strides(torch::Tensor x) {
    auto view = x.transpose(0, 1);
    auto out = torch::empty(view.sizes(), x.options());
    strided_copy<<<dim3(2, 3), dim3(16, 8)>>>(view.data_ptr<float>(), out.data_ptr<float>(), view.size(0), view.size(1), view.stride(0),
                                              view.stride(1), out.stride(0), out.stride(1));
    return out;
}
"""

cpp_src = "torch::Tensor transpose_by_strides(torch::Tensor x);"

module = load_inline(
    name="transpose_view_output",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["transpose_by_strides"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.transpose_by_strides(x)
