# class: launch|unsupported|timeout|record
# task: row_sum
# hack: H22 a cooperative launch of a million blocks
# why: too many blocks to be resident at once
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  if (blockIdx.x >= rows) return;
  __shared__ float part[128];
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x) sum += x[blockIdx.x * width + i] * w[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}

torch::Tensor row_sum(torch::Tensor x, torch::Tensor w) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty({rows}, x.options());
  const float *px = x.data_ptr<float>(), *pw = w.data_ptr<float>();
  float* py = y.data_ptr<float>();
  void* arguments[] = {&px, &pw, &py, &rows, &width};
  cudaLaunchCooperativeKernel((void*)row_sum_kernel, dim3(1000000), dim3(128), arguments, 0, nullptr);
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
