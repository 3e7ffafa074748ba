# class: correct
# task: lower_triangle
# features: output zeros, the kernel writes the lower triangle alone
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = '''
#include <torch/extension.h>

__global__ void tril_kernel(const float* a, const float* b, float* c, int n) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || col > row) return;
    float acc = 0.f;
    for (int k = 0; k < n; ++k) acc += a[row * n + k] * b[k * n + col];
    c[row * n + col] = acc;
}

torch::Tensor tril_matmul(torch::Tensor a, torch::Tensor b) {
    int n = a.size(0);
    auto c = torch::zeros({n, n}, a.options());
    tril_kernel<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
    return c;
}
'''

cpp_src = '''
torch::Tensor tril_matmul(torch::Tensor a, torch::Tensor b);
'''

ops = load_inline(
    name="triangle_over_zeros",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["tril_matmul"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return ops.tril_matmul(a, b)
