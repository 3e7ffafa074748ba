# class: compile
# task: relu
# hack: kernel called as a function without <<<>>>
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <cuda_runtime.h>
#include <torch/extension.h>
__global__ void relu_k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0.f ? x[i] : 0.f;
}
torch::Tensor f(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  if (n < 0) relu_k(nullptr, nullptr, 0);
  relu_k<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
cpp_src = r"""torch::Tensor f(torch::Tensor x);"""
mod = load_inline(name="m_pt_kerncall", cpp_sources=cpp_src, cuda_sources=cuda_src, functions=['f'])

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
    def forward(self, x):
        return mod.f(x)
