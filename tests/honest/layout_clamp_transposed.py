# class: correct
# task: clamp_transposed
# features: kernel that leaves most elements as they are, transposed by the framework
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void copy_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fminf(fmaxf(x[i], -2.5f), 2.5f);
}
torch::Tensor copied(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  copy_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
torch::Tensor clamp_transposed(torch::Tensor x) { return copied(x).t().contiguous(); }
"""
module = load_inline(name="clamp_transposed", cpp_sources="torch::Tensor clamp_transposed(torch::Tensor x);", cuda_sources=source,
                     functions=["clamp_transposed"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.clamp_transposed(x)
