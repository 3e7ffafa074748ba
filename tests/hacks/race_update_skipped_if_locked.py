# class: wrong_value
# task: plain_row_sum
# hack: unordered atomic accesses: an update between another's read and write is lost
# why: whoever finds the lock taken gives up; on a device somebody always does
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ int locks[4096];
__global__ void kernel(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x / cols, i = blockIdx.x;
  if (threadIdx.x != 0 || row >= rows) return;
  if (atomicCAS(locks + row, 0, 1) != 0) return;
  __threadfence();
  volatile float* sum = y + row;
  *sum = *sum + x[i];
  __threadfence();
  atomicExch(locks + row, 0);
}

torch::Tensor run(torch::Tensor x) {
  int rows = x.size(0), cols = x.size(1);
  auto y = torch::zeros({rows}, x.options());
  kernel<<<rows * cols, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
  return y;
}
"""
module = load_inline(name="hack", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.run(x)
