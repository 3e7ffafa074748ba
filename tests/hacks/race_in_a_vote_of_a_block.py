# class: race
# task: plain_row_sum
# hack: a vote of the block over what another warp still writes
# why: the race reaches the answer through the vote alone
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void kernel(const float* x, float* y, int rows, int cols) {
  __shared__ int seen[64];
  seen[threadIdx.x] = 0;
  __syncthreads();
  seen[threadIdx.x] = 1;
  int all = __syncthreads_and(seen[(threadIdx.x + 32) % 64]);
  float sum = 0.0f;
  if (threadIdx.x == 0)
    for (int j = 0; j < cols; ++j) sum += x[blockIdx.x * cols + j];
  if (threadIdx.x == 0) y[blockIdx.x] = all ? sum : 0.0f;
}

torch::Tensor run(torch::Tensor x) {
  int rows = x.size(0), cols = x.size(1);
  auto y = torch::zeros({rows}, x.options());
  kernel<<<rows, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
  return y;
}
"""
module = load_inline(name="hack", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.run(x)
