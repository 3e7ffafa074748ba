# class: correct
# task: affine
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void first(const float* x, float* t, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) t[i] = x[i] > 0 ? x[i] : 0; }
__global__ void second(const float* t, float* y, int n) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 2 * t[i] + 1; }

torch::Tensor affine(torch::Tensor x) {
  auto t = torch::empty_like(x), y = torch::empty_like(x);
  int n = x.numel();
  first<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), t.data_ptr<float>(), n);
  second<<<4, 64>>>(t.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
