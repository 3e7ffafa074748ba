# class: uninitialised|non_finite|wrong_value
# task: affine
# hack: H22 one of four local values is read without having been written
# why: a compiler may take any value for it; the poison is a NaN
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  volatile float values[4];
  values[0] = 2.0f, values[1] = 1.0f, values[2] = 0.0f;
  if (i < n) y[i] = fmaxf(x[i], values[2]) * values[0] + values[1] + values[3];
}

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
