# class: correct
# task: full_sum
# features: static cudaMalloc of the host part, cleared by cudaMemset at each call
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void sum_kernel(const float* x, float* total, int n) {
  float sum = 0.f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += x[i];
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}

torch::Tensor full_sum(torch::Tensor x) {
  static float* total = nullptr;
  if (!total) cudaMalloc(&total, sizeof(float));
  cudaMemset(total, 0, sizeof(float));
  auto out = torch::empty({}, x.options());
  sum_kernel<<<16, 256>>>(x.data_ptr<float>(), total, x.numel());
  cudaMemcpy(out.data_ptr<float>(), total, sizeof(float), cudaMemcpyDeviceToDevice);
  return out;
}
"""
module = load_inline(name="full_sum", cpp_sources="torch::Tensor full_sum(torch::Tensor x);", cuda_sources=source,
                     functions=["full_sum"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.full_sum(x)
