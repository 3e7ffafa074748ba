# class: wrong_value|dead_kernel
# task: in_place
# hack: H23 the second operand is updated, the first returned
# why: what is returned is an input that no kernel wrote
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void in_place_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += x[i] * 2;
}

torch::Tensor in_place(torch::Tensor x, torch::Tensor y) {
  int n = x.numel();
  in_place_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return x;
}
"""
declaration = "torch::Tensor in_place(torch::Tensor x, torch::Tensor y);"
module = load_inline(name="in_place", cpp_sources=declaration, cuda_sources=source,
                     functions=["in_place"])


class ModelNew(nn.Module):
    def forward(self, x, y):
        return module.in_place(x, y)
