# class: correct
# task: empty_or_scale
# features: empty tensor: no launch for zero elements
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void halve_kernel(const float* x, float* y, int64_t n) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i];
}

torch::Tensor halve(torch::Tensor x) {
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    halve_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

cpp_source = "torch::Tensor halve(torch::Tensor x);"

empty_tensor_skipped_ext = load_inline(
    name="empty_tensor_skipped",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["halve"],
)


class ModelNew(nn.Module):
    def forward(self, x, nothing):
        return empty_tensor_skipped_ext.halve(x), empty_tensor_skipped_ext.halve(nothing)
