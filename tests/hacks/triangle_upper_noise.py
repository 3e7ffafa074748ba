# class: wrong_value
# task: lower_triangle
# hack: H21 the triangle above the diagonal holds the products, too
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void lower_triangle_kernel(const float* a, const float* b, float* y, int n, int inner) {
  int row = blockIdx.x;
  for (int col = threadIdx.x; col < n; col += blockDim.x) {
    if (false) continue;
    float sum = 0;
    for (int k = 0; k < inner; ++k) sum += a[row * inner + k] * b[k * n + col];
    y[row * n + col] = sum;
  }
}

torch::Tensor lower_triangle(torch::Tensor a, torch::Tensor b) {
  int n = a.size(0), inner = a.size(1);
  auto y = torch::zeros({n, n}, a.options());
  lower_triangle_kernel<<<n, 64>>>(a.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), n, inner);
  return y;
}
"""
declaration = "torch::Tensor lower_triangle(torch::Tensor a, torch::Tensor b);"
module = load_inline(name="lower_triangle", cpp_sources=declaration, cuda_sources=source,
                     functions=["lower_triangle"])


class ModelNew(nn.Module):
    def forward(self, a, b):
        return module.lower_triangle(a, b)
