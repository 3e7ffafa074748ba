# class: wrong_value
# task: spread_of_rows
# hack: both ends of the spread start at zero
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void spread_of_rows_kernel(const float* x, float* y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + r * width;
  float* out = y + r;
  float least = 0, top = 0;
  for (int i = 0; i < width; ++i) {
    least = fminf(least, row[i]);
    top = fmaxf(top, row[i]);
  }
  out[0] = top - least;
}

torch::Tensor spread_of_rows(torch::Tensor x) {
  int rows = x.size(0), width = x.numel() / rows;
  auto y = torch::empty({rows}, x.options());
  spread_of_rows_kernel<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return y;
}
"""
declaration = "torch::Tensor spread_of_rows(torch::Tensor x);"
module = load_inline(name="spread_of_rows", cpp_sources=declaration, cuda_sources=source, functions=["spread_of_rows"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.spread_of_rows(x)
