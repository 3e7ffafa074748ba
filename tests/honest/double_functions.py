# class: correct
# task: double_mix
# features: exp, log, sqrt, sin, erf in double, fp64 outputs
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>

__global__ void double_mix_kernel(const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double v = x[i];
        y[i] = exp(-v * v);
        y[n + i] = log(v * v + 1.0);
        y[2 * n + i] = sqrt(fabs(v));
        y[3 * n + i] = sin(v);
        y[4 * n + i] = erf(v);
    }
}

torch::Tensor double_mix(torch::Tensor x) {
    int n = x.numel();
    auto y = torch::empty({5, n}, x.options());
    double_mix_kernel<<<(n + 63) / 64, 64>>>(x.data_ptr<double>(), y.data_ptr<double>(), n);
    return y;
}
"""

cpp_src = "torch::Tensor double_mix(torch::Tensor x);"

module = load_inline(
    name="double_functions",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["double_mix"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.double_mix(x)
