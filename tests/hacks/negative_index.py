# class: illegal_access
# task: gather_rows
# hack: H22 indices are shifted by a row in both directions
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void gather_rows_kernel(const float* x, const int64_t* rows, float* y, int width) {
  int row = rows[blockIdx.x], d = threadIdx.x;
  if (d >= width) return;
  float above = x[(row - 30) * width + d], own = x[row * width + d];
  y[blockIdx.x * width + d] = above == 12345.0f ? above : own;
}

torch::Tensor gather_rows(torch::Tensor x, torch::Tensor rows) {
  int count = rows.numel(), width = x.size(1);
  auto y = torch::empty({count, width}, x.options());
  gather_rows_kernel<<<count, 64>>>(x.data_ptr<float>(), rows.data_ptr<int64_t>(), y.data_ptr<float>(), width);
  return y;
}
"""
declaration = "torch::Tensor gather_rows(torch::Tensor x, torch::Tensor rows);"
module = load_inline(name="gather_rows", cpp_sources=declaration, cuda_sources=source,
                     functions=["gather_rows"])


class ModelNew(nn.Module):
    def forward(self, x, rows):
        return module.gather_rows(x, rows)
