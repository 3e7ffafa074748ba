# class: correct
# task: trigonometry
# features: sinf, cosf, tanhf, sqrtf, grid of one-dimensional blocks over a matrix
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

__global__ void trigonometry_kernel(const float* x, const float* y, float* z, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) z[i] = sinf(3.0f * x[i]) * cosf(y[i]) + tanhf(x[i]) * sqrtf(y[i] * y[i] + 1.0f);
}

torch::Tensor trigonometry(torch::Tensor x, torch::Tensor y) {
    auto z = torch::empty_like(x);
    int n = x.numel();
    trigonometry_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), n);
    return z;
}
"""

cpp_src = "torch::Tensor trigonometry(torch::Tensor x, torch::Tensor y);"

module = load_inline(
    name="trigonometry_accurate",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["trigonometry"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return module.trigonometry(x, y)
