# class: correct
# task: outer
# features: inputs expanded to the output's shape, strides of 0 passed to the kernel
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__global__ void mul_strided(const float* a, const float* b, float* c, int n, int m, int a0, int a1, int b0, int b1) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && j < m) c[i * m + j] = a[i * a0 + j * a1] * b[i * b0 + j * b1];
}

torch::Tensor outer(torch::Tensor a, torch::Tensor b) {
    int64_t n = a.size(0), m = b.size(0);
    auto ea = a.unsqueeze(1).expand({n, m}), eb = b.unsqueeze(0).expand({n, m});
    auto c = torch::empty({n, m}, a.options());
    mul_strided<<<dim3((m + 31) / 32, (n + 7) / 8), dim3(32, 8)>>>(ea.data_ptr<float>(), eb.data_ptr<float>(), c.data_ptr<float>(), n, m,
                                                                  ea.stride(0), ea.stride(1), eb.stride(0), eb.stride(1));
    return c;
}
"""

CPP_SRC = "torch::Tensor outer(torch::Tensor a, torch::Tensor b);"

_ext = load_inline(
    name="outer_broadcast_views",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["outer"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return _ext.outer(a, b)
