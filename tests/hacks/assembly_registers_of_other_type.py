# class: compile
# task: relu
# hack: H60 inline assembly that no assembler takes: an addition of floats on a 64-bit register
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void relu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float r;
  asm volatile("{ .reg .b64 t; mov.b64 t, 0; max.f32 %0, %1, t; }" : "=f"(r) : "f"(x[i]));
  y[i] = r;
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
