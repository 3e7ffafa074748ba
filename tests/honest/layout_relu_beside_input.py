# class: correct
# task: relu_and_input
# features: the input and what the kernel makes of it side by side, by copies
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
torch::Tensor relu_and_input(torch::Tensor x) {
  int w = x.size(1);
  auto z = torch::empty({x.size(0), 2 * w}, x.options());
  z.narrow(1, 0, w).copy_(x);
  z.narrow(1, w, w).copy_(copied(x));
  return z;
}
"""
module = load_inline(name="relu_and_input", cpp_sources="torch::Tensor relu_and_input(torch::Tensor x);", cuda_sources=source,
                     functions=["relu_and_input"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.relu_and_input(x)
