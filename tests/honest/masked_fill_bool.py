# class: correct
# task: masked_fill
# features: bool input tensor, ternary per element
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>

__global__ void masked_fill_kernel(const float* x, const bool* mask, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (mask[i] ? -1.0f : x[i]) * 3.0f;
}

torch::Tensor masked_fill(torch::Tensor x, torch::Tensor mask) {
    TORCH_CHECK(mask.scalar_type() == torch::kBool, "a mask of bools expected");
    auto y = torch::empty_like(x);
    int n = x.numel();
    masked_fill_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), mask.data_ptr<bool>(), y.data_ptr<float>(), n);
    return y;
}
"""

cpp_src = """
torch::Tensor masked_fill(torch::Tensor x, torch::Tensor mask);
"""

module = load_inline(
    name="masked_fill_bool",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["masked_fill"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, mask):
        return module.masked_fill(x, mask)
