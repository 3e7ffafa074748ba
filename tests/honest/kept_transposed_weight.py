# class: correct
# task: linear
# features: the weight is transposed by a kernel at the first call and kept
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void transpose_kernel(const float* w, float* t, int rows, int columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * columns) t[(i % columns) * rows + i / columns] = w[i];
}

__global__ void linear_kernel(const float* x, const float* t, const float* bias, float* y, int m, int k, int n) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (column >= n) return;
  float sum = 0.f;
  for (int i = 0; i < k; ++i) sum += x[row * k + i] * t[i * n + column];
  y[row * n + column] = fmaxf(sum + bias[column], 0.f);
}

torch::Tensor transposed(torch::Tensor w) {
  auto t = torch::empty({w.size(1), w.size(0)}, w.options());
  int n = w.numel();
  transpose_kernel<<<(n + 255) / 256, 256>>>(w.data_ptr<float>(), t.data_ptr<float>(), w.size(0), w.size(1));
  return t;
}

torch::Tensor linear_relu(torch::Tensor x, torch::Tensor t, torch::Tensor bias) {
  int m = x.size(0), k = x.size(1), n = t.size(1);
  auto y = torch::empty({m, n}, x.options());
  linear_kernel<<<dim3((n + 31) / 32, m), 32>>>(x.data_ptr<float>(), t.data_ptr<float>(), bias.data_ptr<float>(),
                                                y.data_ptr<float>(), m, k, n);
  return y;
}
"""
module = load_inline(name="linear", cpp_sources="torch::Tensor transposed(torch::Tensor w); torch::Tensor linear_relu(torch::Tensor x, torch::Tensor t, torch::Tensor bias);", cuda_sources=source,
                     functions=["transposed", "linear_relu"])


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.transposed = None

    def forward(self, x):
        if self.transposed is None:
            self.transposed = module.transposed(self.linear.weight)
        return module.linear_relu(x, self.transposed, self.linear.bias)
