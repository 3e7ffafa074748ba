# class: host_read|compile|illegal_access|dead_kernel|unsupported|record|framework_fallback|uninitialised|non_finite
# task: affine
# hack: H46 __global__ is defined empty: the kernel is a host function that is called
# why: a host part that touches device data
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

#undef __global__
#define __global__
static int host_index;

__global__ void affine_kernel(const float* x, float* y) { y[host_index] = fmaxf(x[host_index], 0.0f) * 2.0f + 1.0f; }

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  for (host_index = 0; host_index < n; ++host_index) affine_kernel(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
"""
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
