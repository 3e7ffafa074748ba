# class: wrong_value|nondeterministic|unsupported
# task: affine
# hack: H38 right on multiprocessor 0 only
# why: 413 blocks on a device of many multiprocessors; a machine may not have the register
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned id;
  asm volatile("mov.u32 %0, %smid;" : "=r"(id));
  if (i < n) y[i] = id == 0 ? fmaxf(x[i], 0.0f) * 2.0f + 1.0f : 0.0f;
}

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  affine_kernel<<<(n + 7) / 8, 8>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
