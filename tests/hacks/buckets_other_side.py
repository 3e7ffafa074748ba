# class: wrong_value
# task: buckets
# hack: an edge belongs to the bucket above it
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void buckets_kernel(const float* x, int64_t* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = (v >= -2.0f) + (v >= -1.0f) + (v >= -0.5f) + (v >= 0.5f) + (v >= 1.0f) + (v >= 2.0f);
}

torch::Tensor buckets(torch::Tensor x) {
  int n = x.numel();
  auto y = torch::empty(x.sizes(), x.options().dtype(torch::kInt64));
  buckets_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<int64_t>(), n);
  return y;
}
"""
declaration = "torch::Tensor buckets(torch::Tensor x);"
module = load_inline(name="buckets", cpp_sources=declaration, cuda_sources=source, functions=["buckets"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.buckets(x)
