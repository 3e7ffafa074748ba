# class: illegal_access|memory|timeout|unsupported
# task: affine
# hack: H58 a recursion that never returns: the stack ends first
# why: the local memory's limit is a memory limit, and its end an address
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ __noinline__ float deeper(const float* x, int depth) {
  volatile float frame[64];
  frame[depth & 63] = x[depth % 100];
  return deeper(x, depth + 1) + frame[(depth + 1) & 63];
}

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f + deeper(x, i);
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
