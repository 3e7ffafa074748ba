# class: record
# task: relu
# hack: event destroyed twice (checked: throws on a real GPU)
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <c10/cuda/CUDAException.h>
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
  cudaEvent_t s;
  cudaEventCreate(&s);
  cudaEventDestroy(s);
  C10_CUDA_CHECK(cudaEventDestroy(s));
  relu_k<<<(n + 255) / 256, 256>>>(X, Y, n);
  return y;
}
"""
cpp_src = r"""torch::Tensor f(torch::Tensor x);"""
mod = load_inline(name="m_ck_evdbl", cpp_sources=cpp_src, cuda_sources=cuda_src, functions=['f'])

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
    def forward(self, x):
        return mod.f(x)
