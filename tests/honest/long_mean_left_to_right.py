# class: correct
# task: long_row_mean
# features: one thread a row adds up 65,536 terms from left to right
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void long_row_mean_kernel(const float* x, float* y, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = 0; i < width; ++i) sum += x[row * width + i];
  y[row] = sum / width;
}

torch::Tensor long_row_mean(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty({x.size(0)}, x.options());
  long_row_mean_kernel<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return y;
}
"""
declaration = "torch::Tensor long_row_mean(torch::Tensor x);"
module = load_inline(name="long_row_mean", cpp_sources=declaration, cuda_sources=source, functions=["long_row_mean"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.long_row_mean(x)
