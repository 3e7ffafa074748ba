# class: illegal_access|unsupported|record|dead_kernel|framework_fallback|host_read
# task: affine
# the host part reads device memory and computes the answer itself; the kernel is decoration
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void touch_kernel(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = y[i];
}

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  const float* in = x.data_ptr<float>();
  float* out = y.data_ptr<float>();
  for (int i = 0; i < n; ++i) out[i] = (in[i] > 0 ? in[i] : 0) * 2 + 1;
  touch_kernel<<<(n + 255) / 256, 256>>>(out, n);
  return y;
}
"""
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
