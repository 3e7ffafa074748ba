# class: correct
# task: rare_positive
# features: output zeros, the kernel writes positive results alone, of which a draw may hold none
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void rare_positive_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 3.0f) y[i] = x[i] - 3.0f;
}

torch::Tensor rare_positive(torch::Tensor x) {
  auto y = torch::zeros_like(x);
  int n = x.numel();
  rare_positive_kernel<<<(n + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
declaration = "torch::Tensor rare_positive(torch::Tensor x);"
module = load_inline(name="rare_positive", cpp_sources=declaration, cuda_sources=source, functions=["rare_positive"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.rare_positive(x)
