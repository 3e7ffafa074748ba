# class: correct
# task: root_of_row_mean
# features: answers that are no numbers
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void root_of_mean_kernel(const float* x, float* y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0;
  for (int i = 0; i < width; ++i) sum += x[r * width + i];
  float mean = sum / width;
  y[r] = sqrtf(mean);
}

torch::Tensor root_of_mean(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty({rows}, x.options());
  root_of_mean_kernel<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return y;
}
"""
declaration = "torch::Tensor root_of_mean(torch::Tensor x);"
module = load_inline(name="root_of_mean", cpp_sources=declaration, cuda_sources=source, functions=["root_of_mean"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.root_of_mean(x)
