# class: dead_kernel|framework_fallback
# task: transpose
# hack: H02 x.t().clone() in Python after a kernel
# why: right on every draw, and right without any launch
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

torch::Tensor transpose(torch::Tensor x) {
  int rows = x.size(0), cols = x.size(1);
  auto y = torch::empty({cols, rows}, x.options());
  transpose_kernel<<<rows, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
  return y;
}
"""
module = load_inline(name="transpose", cpp_sources="torch::Tensor transpose(torch::Tensor x);", cuda_sources=source,
                     functions=["transpose"])


class ModelNew(nn.Module):
    def forward(self, x):
        module.transpose(x)
        return x.t().clone(memory_format=torch.contiguous_format)
