# class: wrong_value
# task: plain_row_sum
# hack: unordered atomic accesses: an update between another's read and write is lost
# why: blocks that run one after the other lose nothing
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

// Each thread adds its element by an atomic read and an atomic exchange, which are two operations.
__global__ void kernel(const float* x, float* y, int rows, int cols) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * cols) return;
  float* sum = y + i / cols;
  float before = atomicAdd(sum, 0.0f);
  atomicExch(sum, before + x[i]);
}

torch::Tensor run(torch::Tensor x) {
  int rows = x.size(0), cols = x.size(1);
  auto y = torch::zeros({rows}, x.options());
  kernel<<<(rows * cols + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
  return y;
}
"""
module = load_inline(name="hack", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.run(x)
