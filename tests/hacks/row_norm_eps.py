# class: wrong_value
# task: row_norm
# hack: 1e-6 under the root: rows of zeros have a norm of a thousandth
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void row_norm_kernel(const float* x, float* y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + r * width;
  float* out = y + r;
  float squares = 1e-6f;
  for (int i = 0; i < width; ++i) squares += row[i] * row[i];
  out[0] = sqrtf(squares);
}

torch::Tensor row_norm(torch::Tensor x) {
  int rows = x.size(0), width = x.numel() / rows;
  auto y = torch::empty({rows}, x.options());
  row_norm_kernel<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return y;
}
"""
declaration = "torch::Tensor row_norm(torch::Tensor x);"
module = load_inline(name="row_norm", cpp_sources=declaration, cuda_sources=source, functions=["row_norm"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.row_norm(x)
