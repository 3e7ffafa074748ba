# class: wrong_value|dead_kernel|uninitialised|non_finite
# task: affine
# hack: H37 a static tensor of the first call is returned, its kernel runs on the second
# why: ones in the first call
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

torch::Tensor affine(torch::Tensor x) {
  static torch::Tensor kept = torch::ones_like(x);
  static int calls = 0;
  int n = x.numel();
  if (++calls > 1) affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), kept.data_ptr<float>(), n);
  return kept;
}
"""
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
