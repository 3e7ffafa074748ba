# class: wrong_value
# task: above_half
# hack: >= in place of >
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void above_half_kernel(const float* x, bool* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = v >= 0.5f;
}

torch::Tensor above_half(torch::Tensor x) {
  int n = x.numel();
  auto y = torch::empty(x.sizes(), x.options().dtype(torch::kBool));
  above_half_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<bool>(), n);
  return y;
}
"""
declaration = "torch::Tensor above_half(torch::Tensor x);"
module = load_inline(name="above_half", cpp_sources=declaration, cuda_sources=source, functions=["above_half"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.above_half(x)
