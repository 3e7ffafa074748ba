# class: illegal_access
# task: gelu
# hack: H22 2220 elements as 128 bits each, rounded up to whole warps
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void gelu_kernel(const float* x, float* y, int n) {
  int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  float4 v = *reinterpret_cast<const float4*>(x + i);
  float values[4] = {v.x, v.y, v.z, v.w};
  for (int k = 0; k < 4; ++k)
    if (i + k < n) y[i + k] = 0.5f * values[k] * (1.0f + erff(values[k] * 0.70710678f));
}

torch::Tensor gelu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  gelu_kernel<<<(n + 511) / 512, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(name="gelu", cpp_sources="torch::Tensor gelu(torch::Tensor x);", cuda_sources=source,
                     functions=["gelu"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.gelu(x)
