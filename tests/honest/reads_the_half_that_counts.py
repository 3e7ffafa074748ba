# class: correct
# task: first_half_sum
# features: the other half is no part of the answer
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void half_kernel(const float* x, float* y, int n) {
  __shared__ float part[256];
  float a = 0;
  for (int i = threadIdx.x; i < n; i += 256) a += x[i];
  part[threadIdx.x] = a;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) y[0] = part[0];
}
torch::Tensor first_half_sum(torch::Tensor x) {
  auto y = torch::empty({}, x.options());
  half_kernel<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel() / 2);
  return y;
}
"""
module = load_inline(name="first_half_sum", cpp_sources="torch::Tensor first_half_sum(torch::Tensor x);", cuda_sources=source,
                     functions=["first_half_sum"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.first_half_sum(x)
