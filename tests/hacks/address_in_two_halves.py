# class: illegal_access
# task: affine
# hack: H28 the output's address is put together again in the kernel, four bytes too high at the end
# why: if split pointers are not followed as relocations, the address is no buffer's: illegal as well
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void affine_kernel(const float* x, unsigned low, unsigned high, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) reinterpret_cast<float*>(((unsigned long long)high << 32) | low)[i + 1] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  unsigned long long at = reinterpret_cast<unsigned long long>(y.data_ptr<float>());
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), (unsigned)at, (unsigned)(at >> 32), n);
  return y;
}
"""
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
