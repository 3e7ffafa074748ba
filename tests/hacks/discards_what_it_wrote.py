# class: unsupported
# task: relu
# hack: H34 discard.global.L2 of the output: what stands there afterwards is open
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void relu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
  __syncthreads();
  if (i < n && i % 32 == 0) asm volatile("discard.global.L2 [%0], 128;" ::"l"(y + i) : "memory");
}

torch::Tensor relu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(name="relu", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=source,
                     functions=["relu"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.relu(x)
