# class: race
# task: affine
# hack: H38 an asynchronous copy is waited for, but the other threads are not
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cuda_pipeline.h>

__global__ void affine_kernel(const float* x, float* y, int n) {
  __shared__ float tile[128];
  int begin = blockIdx.x * 128, i = begin + threadIdx.x, t = 127 - threadIdx.x;
  if (i < n) __pipeline_memcpy_async(tile + threadIdx.x, x + i, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  if (begin + t < n) y[begin + t] = fmaxf(tile[t], 0.0f) * 2.0f + 1.0f;
}

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  affine_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
