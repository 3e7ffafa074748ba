# class: compile
# task: relu
# hack: with_cuda=False: cuda file not built
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <cuda_runtime.h>
#include <torch/extension.h>

__global__ void relu_k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#if 0
 if(i<n) y[i]=-1.f;
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
mod = load_inline(name="m_fl_cuda20", cpp_sources=cpp_src, cuda_sources=cuda_src, functions=['f'], extra_include_paths=["/nonexistent"], with_cuda=False)

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
    def forward(self, x):
        return mod.f(x)
