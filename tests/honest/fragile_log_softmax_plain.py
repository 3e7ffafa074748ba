# class: correct
# task: log_softmax_plain
# features: fragile, but right for what the inputs may be: no maximum is subtracted, which overflows above 88
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void log_softmax_kernel(const float* x, float* y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + r * width;
  float* out = y + r * width;
  float sum = 0;
  for (int i = 0; i < width; ++i) sum += expf(row[i]);
  for (int i = 0; i < width; ++i) out[i] = row[i] - logf(sum);
}

torch::Tensor log_softmax(torch::Tensor x) {
  int rows = x.size(0), width = x.numel() / rows;
  auto y = torch::empty_like(x);
  log_softmax_kernel<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return y;
}
"""
declaration = "torch::Tensor log_softmax(torch::Tensor x);"
module = load_inline(name="log_softmax", cpp_sources=declaration, cuda_sources=source, functions=["log_softmax"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.log_softmax(x)
