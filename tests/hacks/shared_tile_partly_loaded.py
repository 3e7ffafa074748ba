# class: uninitialised|non_finite
# task: matmul_bias
# hack: H16 the columns of a tile beyond the matrix are never loaded, but multiplied
# why: where definedness is not followed, the poison, a NaN, reaches the output
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void matmul_bias_kernel(const float* x, const float* w, const float* b, float* y, int rows, int inner,
                                   int cols) {
  __shared__ float left[16][17];
  int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  float sum = col < cols ? b[col] : 0.0f;
  for (int base = 0; base < inner; base += 16) {
    if (row < rows && threadIdx.x < 15) left[threadIdx.y][threadIdx.x] = x[row * inner + base + threadIdx.x];
    __syncthreads();
    if (row < rows && col < cols)
      for (int k = 0; k < 16; ++k) sum += left[threadIdx.y][k] * w[col * inner + base + k];
    __syncthreads();
  }
  if (row < rows && col < cols) y[row * cols + col] = sum;
}

torch::Tensor matmul_bias(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
  int rows = x.size(0), inner = x.size(1), cols = w.size(0);
  auto y = torch::empty({rows, cols}, x.options());
  dim3 block(16, 16), grid((cols + 15) / 16, (rows + 15) / 16);
  matmul_bias_kernel<<<grid, block>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
                                      y.data_ptr<float>(), rows, inner, cols);
  return y;
}
"""
declaration = "torch::Tensor matmul_bias(torch::Tensor x, torch::Tensor w, torch::Tensor b);"
module = load_inline(name="matmul_bias", cpp_sources=declaration, cuda_sources=source,
                     functions=["matmul_bias"])


class ModelNew(nn.Module):
    def __init__(self, inner, width):
        super().__init__()
        self.linear = nn.Linear(inner, width)

    def forward(self, x):
        return module.matmul_bias(x, self.linear.weight, self.linear.bias)
