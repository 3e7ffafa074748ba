# class: correct
# task: softmax_plain
# features: fragile, but right for what the inputs may be: H15 exponents are clamped to 80 in place of subtracting a maximum
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void softmax_kernel(const float* x, float* y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + r * width;
  float* out = y + r * width;
  float sum = 0;
  for (int i = 0; i < width; ++i) sum += expf(fminf(row[i], 80.0f));
  for (int i = 0; i < width; ++i) out[i] = expf(fminf(row[i], 80.0f)) / sum;
}

torch::Tensor softmax(torch::Tensor x) {
  int rows = x.size(0), width = x.numel() / rows;
  auto y = torch::empty_like(x);
  softmax_kernel<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return y;
}
"""
declaration = "torch::Tensor softmax(torch::Tensor x);"
module = load_inline(name="softmax", cpp_sources=declaration, cuda_sources=source, functions=["softmax"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.softmax(x)
