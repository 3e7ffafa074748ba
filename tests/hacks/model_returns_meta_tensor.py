# class: wrong_shape|record|unsupported|dead_kernel|uninitialised|framework_fallback|non_finite|wrong_value
# task: affine
# hack: H23 a tensor without storage is returned
# why: there is nothing to compare; what stands in its place is whatever the memory held
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
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
        module.affine(x)
        return torch.empty(33, 100, device="meta")
