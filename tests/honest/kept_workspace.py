# class: correct
# task: full_sum
# features: workspace allocated at the first call and kept, overwritten by each call
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void partial_kernel(const float* x, float* part, int n) {
  __shared__ float s[256];
  float sum = 0.f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += x[i];
  s[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 128; step > 0; step >>= 1) {
    if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) part[blockIdx.x] = s[0];
}

__global__ void finish_kernel(const float* part, float* out, int blocks) {
  float sum = 0.f;
  for (int i = 0; i < blocks; ++i) sum += part[i];
  *out = sum;
}

torch::Tensor full_sum(torch::Tensor x, torch::Tensor part) {
  auto out = torch::empty({}, x.options());
  partial_kernel<<<part.size(0), 256>>>(x.data_ptr<float>(), part.data_ptr<float>(), x.numel());
  finish_kernel<<<1, 1>>>(part.data_ptr<float>(), out.data_ptr<float>(), part.size(0));
  return out;
}
"""
module = load_inline(name="full_sum", cpp_sources="torch::Tensor full_sum(torch::Tensor x, torch::Tensor part);", cuda_sources=source,
                     functions=["full_sum"])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = None

    def forward(self, x):
        if self.part is None:
            self.part = torch.empty(24, device=x.device)
        return module.full_sum(x, self.part)
