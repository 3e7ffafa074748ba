# class: wrong_value
# task: gelu
# hack: H21 the last percent of elements is zero
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void gelu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = i < n - n / 100 ? 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678f)) : 0.0f;
}

torch::Tensor gelu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  gelu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(name="gelu", cpp_sources="torch::Tensor gelu(torch::Tensor x);", cuda_sources=source,
                     functions=["gelu"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.gelu(x)
