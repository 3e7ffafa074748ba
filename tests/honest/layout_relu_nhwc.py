# class: correct
# task: relu_nhwc
# features: relu in the input's order, a permuted view is returned
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void copy_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.f);
}
torch::Tensor copied(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  copy_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
torch::Tensor relu_nhwc(torch::Tensor x) { return copied(x).permute({0, 2, 3, 1}); }
"""
module = load_inline(name="relu_nhwc", cpp_sources="torch::Tensor relu_nhwc(torch::Tensor x);", cuda_sources=source,
                     functions=["relu_nhwc"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.relu_nhwc(x)
