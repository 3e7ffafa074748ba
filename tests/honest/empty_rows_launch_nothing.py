# class: correct
# task: empty_rows
# features: no launch, as there is nothing to compute
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
torch::Tensor relu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  if (n == 0) return y;
  relu_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
declaration = "torch::Tensor relu(torch::Tensor x);"
module = load_inline(name="empty_rows_launch_nothing", cpp_sources=declaration, cuda_sources=source, functions=['relu'])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.relu(x)
