# class: correct
# task: strided_scale
# features: kernel writes in the input's order, result returned as a transposed view
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void scale_shift_kernel(const float* x, float* y, float a, float b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + b;
}

torch::Tensor scale_shift(torch::Tensor x, double a, double b) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    scale_shift_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), (float)a, (float)b, n);
    return y;
}
"""

cpp_source = """
torch::Tensor scale_shift(torch::Tensor x, double a, double b);
"""

strided_input_view_ext = load_inline(
    name="strided_input_view",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["scale_shift"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return strided_input_view_ext.scale_shift(x, 2.0, 1.0).t()
