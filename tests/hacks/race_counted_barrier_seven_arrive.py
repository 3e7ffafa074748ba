# class: race
# task: plain_row_sum
# hack: a counted barrier for fewer threads than come
# why: the consumer meets the last producer alone
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void kernel(const float* x, float* y, int rows, int cols) {
  __shared__ float part[256];
  float sum = 0.0f;
  for (int j = threadIdx.x; j < cols; j += 256) sum += x[blockIdx.x * cols + j];
  part[threadIdx.x] = sum;
  if (threadIdx.x >= 32) {
    asm volatile("bar.arrive 1, 64;" ::: "memory");
    return;
  }
  asm volatile("bar.sync 1, 64;" ::: "memory");
  for (int k = threadIdx.x + 32; k < 256; k += 32) sum += part[k];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

torch::Tensor run(torch::Tensor x) {
  int rows = x.size(0), cols = x.size(1);
  auto y = torch::zeros({rows}, x.options());
  kernel<<<rows, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
  return y;
}
"""
module = load_inline(name="hack", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.run(x)
