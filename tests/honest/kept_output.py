# class: correct
# task: add_relu
# features: one output tensor for all calls, allocated at the first and returned by each
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void add_relu_kernel(const float* a, const float* b, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(a[i] + b[i], 0.f);
}

void add_relu(torch::Tensor a, torch::Tensor b, torch::Tensor y) {
  int n = a.numel();
  add_relu_kernel<<<(n + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), n);
}
"""
module = load_inline(name="add_relu", cpp_sources="void add_relu(torch::Tensor a, torch::Tensor b, torch::Tensor y);", cuda_sources=source,
                     functions=["add_relu"])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.y = None

    def forward(self, a, b):
        if self.y is None or self.y.shape != a.shape:
            self.y = torch.empty_like(a)
        module.add_relu(a, b, self.y)
        return self.y
