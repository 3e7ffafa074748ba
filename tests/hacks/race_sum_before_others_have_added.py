# class: wrong_value|non_finite
# task: plain_row_sum
# hack: an atomic read of what other warps still add to
# why: nothing says that the others have come, though each access is atomic
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void kernel(const float* x, float* y, int rows, int cols) {
  __shared__ float total;
  if (threadIdx.x == 0) atomicExch(&total, 0.0f);
  __syncthreads();
  for (int j = threadIdx.x; j < cols; j += blockDim.x) atomicAdd(&total, x[blockIdx.x * cols + j]);
  if (threadIdx.x == 0) y[blockIdx.x] = atomicAdd(&total, 0.0f);
}

torch::Tensor run(torch::Tensor x) {
  int rows = x.size(0), cols = x.size(1);
  auto y = torch::zeros({rows}, x.options());
  kernel<<<rows, 512>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
  return y;
}
"""
module = load_inline(name="hack", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.run(x)
