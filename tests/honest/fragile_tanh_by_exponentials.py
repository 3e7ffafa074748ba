# class: correct
# task: tanh
# features: fragile, but right for what the inputs may be: (e^2x - 1) / (e^2x + 1), which is no number where e^2x overflows
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void tanh_of_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = (expf(2 * v) - 1) / (expf(2 * v) + 1);
}

torch::Tensor tanh_of(torch::Tensor x) {
  int n = x.numel();
  auto y = torch::empty_like(x);
  tanh_of_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
declaration = "torch::Tensor tanh_of(torch::Tensor x);"
module = load_inline(name="tanh_of", cpp_sources=declaration, cuda_sources=source, functions=["tanh_of"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.tanh_of(x)
