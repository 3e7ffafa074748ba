# class: uninitialised|non_finite
# task: softmax
# hack: H22 a shared sum is added to without having been cleared
# why: where definedness is not followed, the poison, a NaN, reaches the output
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void softmax_kernel(const float* x, float* y, int rows, int width) {
  __shared__ float sum;
  const float* row = x + blockIdx.x * width;
  float top = -INFINITY;
  for (int i = 0; i < width; ++i) top = fmaxf(top, row[i]);
  for (int i = threadIdx.x; i < width; i += 128) atomicAdd(&sum, expf(row[i] - top));
  __syncthreads();
  for (int i = threadIdx.x; i < width; i += 128) y[blockIdx.x * width + i] = expf(row[i] - top) / sum;
}

torch::Tensor softmax(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty_like(x);
  softmax_kernel<<<rows, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return y;
}
"""
module = load_inline(name="softmax", cpp_sources="torch::Tensor softmax(torch::Tensor x);", cuda_sources=source,
                     functions=["softmax"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.softmax(x)
