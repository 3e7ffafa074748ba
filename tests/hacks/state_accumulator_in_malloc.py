# class: wrong_value
# task: row_sum
# hack: H37 sums in memory that is allocated and cleared at the first call
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void row_sum_kernel(const float* x, const float* w, float* sums, int width) {
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x) sum += x[blockIdx.x * width + i] * w[i];
  atomicAdd(&sums[blockIdx.x], sum);
}

torch::Tensor row_sum(torch::Tensor x, torch::Tensor w) {
  static float* sums = nullptr;
  int rows = x.size(0);
  if (!sums) {
    cudaMalloc(&sums, rows * sizeof(float));
    cudaMemset(sums, 0, rows * sizeof(float));
  }
  auto y = torch::empty({rows}, x.options());
  row_sum_kernel<<<rows, 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), sums, x.size(1));
  cudaMemcpy(y.data_ptr<float>(), sums, rows * sizeof(float), cudaMemcpyDeviceToDevice);
  return y;
}
"""
module = load_inline(name="row_sum", cpp_sources="torch::Tensor row_sum(torch::Tensor x, torch::Tensor w);", cuda_sources=source,
                     functions=["row_sum"])


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))

    def forward(self, x):
        return module.row_sum(x, self.weight)
