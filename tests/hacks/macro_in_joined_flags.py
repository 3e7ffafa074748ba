# class: wrong_value
# task: relu
# hack: flags in one string (torch joins with spaces)
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <cuda_runtime.h>
#include <torch/extension.h>

__global__ void relu_k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
  if (i < n) y[i] = -1.f;
#else
  if (i < n) y[i] = x[i] > 0.f ? x[i] : 0.f;
#endif
}
torch::Tensor f(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  relu_k<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
cpp_src = r"""torch::Tensor f(torch::Tensor x);"""
mod = load_inline(name="m_fl_cuda5", cpp_sources=cpp_src, cuda_sources=cuda_src, functions=['f'], extra_cuda_cflags=["-O3 -DCHEAT=1"])

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
    def forward(self, x):
        return mod.f(x)
