# class: compile
# task: relu
# hack: kernel reads an ordinary host global that the host set (nvcc refuses)
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <cuda_runtime.h>
#include <torch/extension.h>
float hg = 0.f;
__global__ void relu_k(const float* x, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  y[i] = fmaxf(x[i], hg);
}
torch::Tensor f(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  const float* X = x.data_ptr<float>();
  float* Y = y.data_ptr<float>();
  relu_k<<<(n + 255) / 256, 256>>>(X, Y, n);
  return y;
}
"""
cpp_src = r"""torch::Tensor f(torch::Tensor x);"""
mod = load_inline(name="m_hg_set", cpp_sources=cpp_src, cuda_sources=cuda_src, functions=['f'])

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
    def forward(self, x):
        return mod.f(x)
