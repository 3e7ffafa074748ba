# class: record|compile|unsupported|protocol|wrong_value
# task: affine
# hack: H52 flags that are numbers, bytes, None and nested lists
# why: the kernel is wrong on purpose: a flag or text that is ignored must not make a right program
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
  auto y = torch::empty_like(x);
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"],
                     extra_cuda_cflags=[1, None, b"-O3", ["-O3"]], extra_cflags=None)


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
