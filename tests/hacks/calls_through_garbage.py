# class: uninitialised|illegal_access|unsupported|trap
# task: affine
# hack: H27 an indirect call through a shared table that nobody filled
# why: the address was never written, and is no function's
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ __noinline__ float doubled(float value) { return value * 2.0f; }

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ float (*table[4])(float);
  if (n < 0) table[0] = doubled;
  __syncthreads();
  if (i < n) y[i] = table[i & 3](fmaxf(x[i], 0.0f)) + 1.0f;
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
