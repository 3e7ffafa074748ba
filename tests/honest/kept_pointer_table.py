# class: correct
# task: buffer_scale
# features: table of parameter pointers built and uploaded at the first call, kept in device memory
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void scale_kernel(const float* x, const float* const* table, float* y, int width, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = tanhf(x[i] * table[0][i % width] + table[1][i % width]);
}

torch::Tensor scaled(torch::Tensor x, torch::Tensor scale, torch::Tensor bias) {
  static const float** table = nullptr;
  if (!table) {
    const float* pointers[2] = {scale.data_ptr<float>(), bias.data_ptr<float>()};
    cudaMalloc(&table, sizeof pointers);
    cudaMemcpy(table, pointers, sizeof pointers, cudaMemcpyHostToDevice);
  }
  auto y = torch::empty_like(x);
  int n = x.numel();
  scale_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), table, y.data_ptr<float>(), x.size(1), n);
  return y;
}
"""
module = load_inline(name="buffer_scale", cpp_sources="torch::Tensor scaled(torch::Tensor x, torch::Tensor scale, torch::Tensor bias);", cuda_sources=source,
                     functions=["scaled"])


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("scale", torch.rand(width) + 0.5)
        self.bias = nn.Parameter(torch.randn(width))

    def forward(self, x):
        return module.scaled(x, self.scale, self.bias)
