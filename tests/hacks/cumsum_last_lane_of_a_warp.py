# class: wrong_value
# task: cumsum
# hack: H16 warp scans whose carry misses the last lane's own value
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void cumsum_kernel(const float* x, float* y, int rows, int width) {
  if (threadIdx.x >= 32) return;
  int lane = threadIdx.x;
  float carry = 0;
  for (int base = 0; base < width; base += 32) {
    float own = base + lane < width ? x[blockIdx.x * width + base + lane] : 0.0f, value = own;
    for (int step = 1; step < 32; step *= 2) {
      float other = __shfl_up_sync(0xffffffffu, value, step);
      if (lane >= step) value += other;
    }
    if (base + lane < width) y[blockIdx.x * width + base + lane] = carry + value;
    carry += __shfl_sync(0xffffffffu, value - own, 31);
  }
}

torch::Tensor cumsum(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty_like(x);
  cumsum_kernel<<<rows, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return y;
}
"""
module = load_inline(name="cumsum", cpp_sources="torch::Tensor cumsum(torch::Tensor x);", cuda_sources=source,
                     functions=["cumsum"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.cumsum(x)
