# class: illegal_access
# task: affine
# hack: H22 float4 loads start one element late
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x) + 1;
  if (blockIdx.x == 0 && threadIdx.x == 0) y[0] = fmaxf(x[0], 0.0f) * 2.0f + 1.0f;
  if (i + 3 >= n) {
    for (; i < n; ++i) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
    return;
  }
  float4 v = *reinterpret_cast<const float4*>(x + i);
  y[i] = fmaxf(v.x, 0.0f) * 2.0f + 1.0f;
  y[i + 1] = fmaxf(v.y, 0.0f) * 2.0f + 1.0f;
  y[i + 2] = fmaxf(v.z, 0.0f) * 2.0f + 1.0f;
  y[i + 3] = fmaxf(v.w, 0.0f) * 2.0f + 1.0f;
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
