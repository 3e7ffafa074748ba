# class: race
# task: row_sum
# hack: H38 blocks of a row add one after the other, by a volatile flag without fences
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void row_sum_kernel(const float* x, const float* w, float* y, float* parts, int* tickets, int rows, int width) {
  int row = blockIdx.x / 4, quarter = blockIdx.x % 4, t = threadIdx.x;
  volatile int* turn = tickets + row;
  if (t != 0) return;
  float sum = 0;
  for (int i = quarter; i < width; i += 4) sum += x[row * width + i] * w[i];
  while (*turn != quarter) {}
  y[row] = (quarter > 0 ? y[row] : 0.0f) + sum;
  *turn = quarter + 1;
}

torch::Tensor row_sum(torch::Tensor x, torch::Tensor w) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty({rows}, x.options());
  auto parts = torch::empty({rows * 4}, x.options());
  auto tickets = torch::zeros({rows}, x.options().dtype(torch::kInt32));
  row_sum_kernel<<<rows * 4, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), parts.data_ptr<float>(),
                                    tickets.data_ptr<int>(), rows, width);
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
