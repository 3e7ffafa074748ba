# class: correct
# task: log_sigmoid
# features: fragile, but right for what the inputs may be: the logarithm of a sigmoid that underflows
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void log_sigmoid_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = logf(1.0f / (1.0f + expf(-v)));
}

torch::Tensor log_sigmoid(torch::Tensor x) {
  int n = x.numel();
  auto y = torch::empty_like(x);
  log_sigmoid_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
declaration = "torch::Tensor log_sigmoid(torch::Tensor x);"
module = load_inline(name="log_sigmoid", cpp_sources=declaration, cuda_sources=source, functions=["log_sigmoid"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.log_sigmoid(x)
