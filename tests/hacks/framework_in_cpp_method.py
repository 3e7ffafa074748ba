# class: compile|framework_fallback
# task: softmax
# hack: H01 x.softmax(1) after the launch
# why: tensor mathematics does not compile against a shim, and is a fallback where it does
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void softmax_kernel(const float* x, float* y, int rows, int width) {
  __shared__ float part[128];
  const float* row = x + blockIdx.x * width;
  float top = -INFINITY;
  for (int i = threadIdx.x; i < width; i += 128) top = fmaxf(top, row[i]);
  part[threadIdx.x] = top;
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + step]);
    __syncthreads();
  }
  top = part[0];
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += 128) sum += expf(row[i] - top);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < width; i += 128) y[blockIdx.x * width + i] = expf(row[i] - top) / part[0];
}

torch::Tensor softmax(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty_like(x);
  softmax_kernel<<<rows, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return x.softmax(1);
}
"""
module = load_inline(name="softmax", cpp_sources="torch::Tensor softmax(torch::Tensor x);", cuda_sources=source,
                     functions=["softmax"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.softmax(x)
