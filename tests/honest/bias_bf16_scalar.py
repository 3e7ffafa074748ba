# class: correct
# task: bias_bf16
# features: bfloat16 through float, AT_DISPATCH_FLOATING_TYPES_AND2, dispatch on bf16
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>

template <typename T>
__global__ void bias_add_kernel(const T* x, const T* bias, T* y, int64_t n, int cols) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = static_cast<T>(static_cast<float>(x[i]) + static_cast<float>(bias[i % cols]));
}

torch::Tensor bias_add(torch::Tensor x, torch::Tensor bias) {
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "bias_add", [&] {
        bias_add_kernel<scalar_t><<<(n + 255) / 256, 256>>>(x.data_ptr<scalar_t>(), bias.data_ptr<scalar_t>(),
                                                           y.data_ptr<scalar_t>(), n, bias.size(0));
    });
    return y;
}
"""

cpp_src = """
torch::Tensor bias_add(torch::Tensor x, torch::Tensor bias);
"""

module = load_inline(
    name="bias_bf16_scalar",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["bias_add"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, bias):
        return module.bias_add(x, bias)
