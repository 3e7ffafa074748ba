# class: compile
# task: relu
# hack: H60 inline assembly that no assembler takes: a vector of three elements
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void relu_kernel(const float* x, float* y, int n) {
  int i = 3 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 3 <= n) {
    float a, b, c;
    asm volatile("ld.global.v3.f32 {%0, %1, %2}, [%3];" : "=f"(a), "=f"(b), "=f"(c) : "l"(x + i));
    y[i] = fmaxf(a, 0.0f), y[i + 1] = fmaxf(b, 0.0f), y[i + 2] = fmaxf(c, 0.0f);
  } else {
    for (; i < n; ++i) y[i] = fmaxf(x[i], 0.0f);
  }
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
