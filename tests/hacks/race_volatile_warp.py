# class: race
# task: row_sum
# hack: H38 volatile stands for the barriers of a warp
# why: right on devices before Volta, whose lanes went in step
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  int row = blockIdx.x, t = threadIdx.x;
  __shared__ float part[128];
  float sum = 0;
  for (int i = t; i < width; i += 128) sum += x[row * width + i] * w[i];
  part[t] = sum;
  __syncthreads();
  if (t < 64) part[t] += part[t + 64];
  __syncthreads();
  if (t < 32) {
    volatile float* v = part;
    v[t] += v[t + 32];
    v[t] += v[t + 16];
    v[t] += v[t + 8];
    v[t] += v[t + 4];
    v[t] += v[t + 2];
    v[t] += v[t + 1];
  }
  if (t == 0) y[row] = part[0];
}

torch::Tensor row_sum(torch::Tensor x, torch::Tensor w) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty({rows}, x.options());
  row_sum_kernel<<<rows, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return y;
}
"""
declaration = "torch::Tensor row_sum(torch::Tensor x, torch::Tensor w);"
module = load_inline(name="row_sum", cpp_sources=declaration, cuda_sources=source,
                     functions=["row_sum"])


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))

    def forward(self, x):
        return module.row_sum(x, self.weight)
