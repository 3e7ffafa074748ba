# class: race
# task: row_sum
# a missing barrier, which no order of threads need show
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
__global__ void row_kernel(const float* x, const float* w, float* y, int width) {
  __shared__ float part[128];
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += 128) sum += x[blockIdx.x * width + i] * w[i];
  part[threadIdx.x] = sum;
  for (int step = 64; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    }
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}

torch::Tensor row_sum(torch::Tensor x, torch::Tensor w) {
  auto y = torch::empty({x.size(0)}, x.options());
  row_kernel<<<x.size(0), 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}
"""
module = load_inline(name="row_sum", cpp_sources="torch::Tensor row_sum(torch::Tensor x, torch::Tensor w);",
                     cuda_sources=source, functions=["row_sum"])


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))

    def forward(self, x):
        return module.row_sum(x, self.weight)
