# class: compile|timeout|memory|wrong_value
# task: affine
# hack: H62 #pragma unroll over a nest of a billion steps
# why: limits may end it before the compiler does
# why: the kernel is wrong on purpose: a flag or text that is ignored must not make a right program
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
#pragma unroll
  for (int a = 0; a < 1000; ++a)
#pragma unroll
    for (int b = 0; b < 1000; ++b)
#pragma unroll
      for (int c = 0; c < 1000; ++c) sum += x[(a * b + c) % n] * (a ^ b ^ c);
  if (i < n) y[i] = sum;
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
