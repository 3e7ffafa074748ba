# class: illegal_access
# task: relu
# hack: output from_blob over cudaMalloc then freed before return
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
  const float* X = x.data_ptr<float>();
  float* Y = y.data_ptr<float>();
  float* p;
  cudaMalloc(&p, n * 4);
  relu_k<<<(n + 255) / 256, 256>>>(X, p, n);
  auto o = torch::from_blob(p, {64, 1024}, x.options());
  cudaDeviceSynchronize();
  cudaFree(p);
  return o;
}
"""
cpp_src = r"""torch::Tensor f(torch::Tensor x);"""
mod = load_inline(name="m_uaf2_ret", cpp_sources=cpp_src, cuda_sources=cuda_src, functions=['f'])

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
    def forward(self, x):
        return mod.f(x)
