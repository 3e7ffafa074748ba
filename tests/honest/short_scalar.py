# class: correct
# task: short_clamp
# features: short arithmetic through int, ternaries, AT_DISPATCH_INTEGRAL_TYPES
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>
#include <limits>

template <typename scalar_t>
__global__ void add_clamped_kernel(const scalar_t* x, const scalar_t* y, scalar_t* z, long long lo, long long hi, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        long long s = (long long)x[i] + (long long)y[i];
        z[i] = (scalar_t)(s < lo ? lo : s > hi ? hi : s);
    }
}

torch::Tensor add_clamped(torch::Tensor x, torch::Tensor y) {
    auto z = torch::empty_like(x);
    int n = x.numel();
    AT_DISPATCH_INTEGRAL_TYPES(x.scalar_type(), "add_clamped", [&] {
        add_clamped_kernel<scalar_t><<<(n + 255) / 256, 256>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), z.data_ptr<scalar_t>(),
                                                              (long long)std::numeric_limits<scalar_t>::min(),
                                                              (long long)std::numeric_limits<scalar_t>::max(), n);
    });
    return z;
}
"""

CPP_SRC = """
torch::Tensor add_clamped(torch::Tensor x, torch::Tensor y);
"""

_ext = load_inline(
    name="short_scalar",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["add_clamped"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return _ext.add_clamped(x, y)
