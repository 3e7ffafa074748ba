# class: record|protocol|memory|illegal_access|process
# task: affine
# hack: H61 unbounded recursion in the host part
# why: a crash of the host part
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

static int deeper(volatile int* depth) {
  volatile int own[256] = {*depth + 1};
  return deeper(own) + own[1];
}

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  volatile int zero = 0;
  int n = x.numel() + deeper(&zero);
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
