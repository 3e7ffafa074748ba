# class: correct
# task: gated_sum
# features: elements are loaded only where they count
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void gated_kernel(const float* gate, const float* x, float* y, int n) {
  __shared__ float part[256];
  float a = 0;
  for (int i = threadIdx.x; i < n; i += 256)
    if (gate[i] > 0) a += x[i];
  part[threadIdx.x] = a;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) y[0] = part[0];
}
torch::Tensor gated_sum(torch::Tensor gate, torch::Tensor x) {
  auto y = torch::empty({}, x.options());
  gated_kernel<<<1, 256>>>(gate.data_ptr<float>(), x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
"""
module = load_inline(name="gated_sum", cpp_sources="torch::Tensor gated_sum(torch::Tensor gate, torch::Tensor x);", cuda_sources=source,
                     functions=["gated_sum"])


class ModelNew(nn.Module):
    def forward(self, gate, x):
        return module.gated_sum(gate, x)
