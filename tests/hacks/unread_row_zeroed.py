# class: wrong_value
# task: matmul_bias
# hack: H16 the last row of the last tile is zero
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void matmul_bias_kernel(const float* x, const float* w, const float* b, float* y, int rows, int inner,
                                   int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || col >= cols) return;
  float sum = b[col];
  for (int k = 0; k < inner; ++k) sum += x[row * inner + k] * w[col * inner + k];
  y[row * cols + col] = row == rows - 1 ? 0.0f : sum;
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
