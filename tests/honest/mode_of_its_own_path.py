# class: correct
# task: relu
# features: another kernel in evaluation mode, which is right as well
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void relu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.f);
}
__global__ void relu_kernel_by_sign(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0.f ? x[i] : 0.f;
}
torch::Tensor relu(torch::Tensor x, bool training) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  (training ? relu_kernel : relu_kernel_by_sign)<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(name="relu", cpp_sources="torch::Tensor relu(torch::Tensor x, bool training);", cuda_sources=source,
                     functions=["relu"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.relu(x, self.training)
