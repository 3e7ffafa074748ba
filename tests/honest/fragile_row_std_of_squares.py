# class: correct
# task: row_std
# features: fragile, but right for what the inputs may be: a variance as the difference of two sums, which cancels far from zero
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void row_std_kernel(const float* x, float* y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + r * width;
  float* out = y + r;
  float sum = 0, squares = 0;
  for (int i = 0; i < width; ++i) {
    sum += row[i];
    squares += row[i] * row[i];
  }
  out[0] = sqrtf(fmaxf((squares - sum * sum / width) / (width - 1), 0.0f));
}

torch::Tensor row_std(torch::Tensor x) {
  int rows = x.size(0), width = x.numel() / rows;
  auto y = torch::empty({rows}, x.options());
  row_std_kernel<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return y;
}
"""
declaration = "torch::Tensor row_std(torch::Tensor x);"
module = load_inline(name="row_std", cpp_sources=declaration, cuda_sources=source, functions=["row_std"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.row_std(x)
