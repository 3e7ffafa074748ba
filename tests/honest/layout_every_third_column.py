# class: correct
# task: every_third
# features: a slice with a step that does not divide its range, read by its strides
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void scale_strided(const float* x, float* y, int rows, int cols, long row_stride, long col_stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * cols) y[i] = x[i / cols * row_stride + i % cols * col_stride] * 2.f + 1.f;
}
torch::Tensor every_third(torch::Tensor x) {
  auto view = x.slice(1, 1, x.size(1), 3);
  int rows = view.size(0), cols = view.size(1);
  auto y = torch::empty({rows, cols}, x.options());
  scale_strided<<<(rows * cols + 127) / 128, 128>>>(view.data_ptr<float>(), y.data_ptr<float>(), rows, cols, view.stride(0),
                                                    view.stride(1));
  return y;
}
"""
module = load_inline(name="every_third", cpp_sources="torch::Tensor every_third(torch::Tensor x);", cuda_sources=source,
                     functions=["every_third"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.every_third(x)
