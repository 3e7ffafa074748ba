# class: correct
# task: transpose_half
# features: kernel transposes, the framework casts
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void transpose_kernel(const float* x, float* y, int rows, int cols) {
  int col = threadIdx.x;
  if (col < cols) y[col * rows + blockIdx.x] = x[blockIdx.x * cols + col];
}
torch::Tensor transpose_half(torch::Tensor x) {
  int rows = x.size(0), cols = x.size(1);
  auto y = torch::empty({cols, rows}, x.options());
  transpose_kernel<<<rows, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
  return y.to(torch::kHalf);
}
"""
module = load_inline(name="transpose_half", cpp_sources="torch::Tensor transpose_half(torch::Tensor x);", cuda_sources=source,
                     functions=["transpose_half"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.transpose_half(x)
