# class: race|uninitialised|non_finite|wrong_value|nondeterministic
# task: cumsum
# hack: H38 each block reads the carry of the one before from the output, without waiting
# why: right if blocks run in ascending order, one after the other
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void cumsum_kernel(const float* x, float* y, int rows, int width) {
  int row = blockIdx.y, base = blockIdx.x * 50;
  float sum = base ? y[row * width + base - 1] : 0.0f;
  for (int i = base; i < base + 50; ++i) {
    sum += x[row * width + i];
    y[row * width + i] = sum;
  }
}

torch::Tensor cumsum(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty_like(x);
  cumsum_kernel<<<dim3(width / 50, rows), 1>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return y;
}
"""
module = load_inline(name="cumsum", cpp_sources="torch::Tensor cumsum(torch::Tensor x);", cuda_sources=source,
                     functions=["cumsum"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.cumsum(x)
