# class: correct
# task: strided_scale
# features: x.t() given to the extension, made contiguous there, is_contiguous tested
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__global__ void scale_shift_any_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * 2.0f + 1.0f;
}

torch::Tensor scale_shift_any(const torch::Tensor& x) {
    torch::Tensor input = x.is_contiguous() ? x : x.contiguous();
    auto y = torch::empty(input.sizes(), input.options());
    const auto n = input.numel();
    if (n == 0) return y;
    scale_shift_any_kernel<<<(n + 255) / 256, 256>>>(input.const_data_ptr<float>(), y.mutable_data_ptr<float>(), n);
    return y;
}
"""

CPP_SRC = """
torch::Tensor scale_shift_any(const torch::Tensor& x);
"""

_ext = load_inline(
    name="strided_noncontiguous_input",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["scale_shift_any"],
    verbose=False,
)


class ModelNew(nn.Module):
    def forward(self, x):
        return _ext.scale_shift_any(x.t())
