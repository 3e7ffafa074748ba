# class: timeout|illegal_access|memory|unsupported
# task: affine
# hack: H58 a recursion with an exponential number of calls
# why: counted work ends it, if the stack does not before
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ __noinline__ long long fibonacci(int k) { return k < 2 ? k : fibonacci(k - 1) + fibonacci(k - 2); }

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f + (fibonacci(60 + (i & 1)) == 7 ? 1.0f : 0.0f);
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
