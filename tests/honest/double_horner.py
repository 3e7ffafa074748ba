# class: correct
# task: double_poly
# features: double arithmetic, fma in double, __constant__ doubles with an initialiser
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__constant__ double coefficients[4] = {0.25, -1.5, 2.0, -0.75};

__global__ void horner_kernel(const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double acc = coefficients[0];
#pragma unroll
        for (int k = 1; k < 4; ++k) acc = fma(acc, x[i], coefficients[k]);
        y[i] = acc;
    }
}

torch::Tensor horner(torch::Tensor x) {
    TORCH_CHECK(x.dtype() == torch::kFloat64);
    auto y = torch::empty_like(x);
    horner_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<double>(), y.data_ptr<double>(), x.numel());
    return y;
}
"""

cpp_src = "torch::Tensor horner(torch::Tensor x);"

ops = load_inline(
    name="double_horner",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["horner"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.horner(x)
