# class: wrong_value|nondeterministic|uninitialised
# task: row_sum
# hack: H38 the row is a ticket, the place in the output is the block's index
# why: right if blocks take their tickets in ascending order, which nothing promises
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ int tickets;
__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  int row = atomicAdd(&tickets, 1) % rows;
  float sum = 0;
  for (int i = 0; i < width; ++i) sum += x[row * width + i] * w[i];
  y[blockIdx.x] = sum;
}

torch::Tensor row_sum(torch::Tensor x, torch::Tensor w) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty({rows}, x.options());
  row_sum_kernel<<<rows, 1>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), rows, width);
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
