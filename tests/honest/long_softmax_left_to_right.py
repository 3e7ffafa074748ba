# class: correct
# task: long_softmax
# features: one thread a row, three passes over 16,384 elements
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void long_softmax_kernel(const float* x, float* y, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* from = x + row * width;
  float most = -INFINITY, sum = 0;
  for (int i = 0; i < width; ++i) most = fmaxf(most, from[i]);
  for (int i = 0; i < width; ++i) sum += expf(from[i] - most);
  for (int i = 0; i < width; ++i) y[row * width + i] = expf(from[i] - most) / sum;
}

torch::Tensor long_softmax(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty_like(x);
  long_softmax_kernel<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return y;
}
"""
declaration = "torch::Tensor long_softmax(torch::Tensor x);"
module = load_inline(name="long_softmax", cpp_sources=declaration, cuda_sources=source, functions=["long_softmax"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.long_softmax(x)
