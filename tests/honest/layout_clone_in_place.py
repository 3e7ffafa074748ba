# class: correct
# task: add_relu
# features: both inputs are copied by the runtime, the kernel works in place on a transposed view
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void add_relu_kernel(float* y, const float* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(y[i] + b[i], 0.f);
}
torch::Tensor add_relu_in_place(torch::Tensor a, torch::Tensor b) {
  auto y = a.t().contiguous(), z = b.t().contiguous();
  int n = y.numel();
  add_relu_kernel<<<(n + 127) / 128, 128>>>(y.data_ptr<float>(), z.data_ptr<float>(), n);
  return y.t().contiguous();
}
"""
module = load_inline(name="add_relu_in_place", cpp_sources="torch::Tensor add_relu_in_place(torch::Tensor a, torch::Tensor b);", cuda_sources=source,
                     functions=["add_relu_in_place"])


class ModelNew(nn.Module):
    def forward(self, a, b):
        return module.add_relu_in_place(a, b)
