# class: correct
# task: root_of_gelu
# features: at -5 the sum 1 + erf(x) keeps one or two bits, of which the root makes a ten-thousandth
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__global__ void root_of_gelu_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        v = 0.5f * v * (1.0f + erff(v * 0.7071068f));
        y[i] = sqrtf(fabsf(v));
    }
}

torch::Tensor root_of_gelu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    root_of_gelu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

_ext = load_inline(
    name="root_of_gelu_at_its_tail",
    cpp_sources="torch::Tensor root_of_gelu(torch::Tensor x);",
    cuda_sources=CUDA_SRC,
    functions=["root_of_gelu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return _ext.root_of_gelu(x)
