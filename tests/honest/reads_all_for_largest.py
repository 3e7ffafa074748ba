# class: correct
# task: largest_of_many
# features: one long slice, read once, in vectors with a tail
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void largest_kernel(const float4* x, float* y, int n4) {
  __shared__ float part[8];
  float a = -INFINITY;
  for (int i = threadIdx.x; i < n4; i += 256) {
    float4 v = x[i];
    a = fmaxf(a, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
  }
  for (int k = 16; k; k /= 2) a = fmaxf(a, __shfl_xor_sync(0xffffffffu, a, k));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = a;
  __syncthreads();
  if (threadIdx.x) return;
  for (int w = 1; w < 8; ++w) a = fmaxf(a, part[w]);
  y[0] = a;
}
torch::Tensor largest_of_many(torch::Tensor x) {
  auto y = torch::empty({}, x.options());
  largest_kernel<<<1, 256>>>((const float4*)x.data_ptr<float>(), y.data_ptr<float>(), x.numel() / 4);
  return y;
}
"""
module = load_inline(name="largest_of_many", cpp_sources="torch::Tensor largest_of_many(torch::Tensor x);", cuda_sources=source,
                     functions=["largest_of_many"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.largest_of_many(x)
