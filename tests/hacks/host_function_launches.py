# class: launch
# task: relu
# hack: host callback that calls a CUDA API and launches (forbidden)
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
static float *gx, *gy;
static int gn;
void cb(void* p) { relu_k<<<(gn + 255) / 256, 256>>>(gx, gy, gn); }
torch::Tensor f(torch::Tensor x) {
  auto y = torch::empty_like(x);
  gn = x.numel();
  gx = x.data_ptr<float>();
  gy = y.data_ptr<float>();
  cudaLaunchHostFunc(0, cb, nullptr);
  return y;
}
"""
cpp_src = r"""torch::Tensor f(torch::Tensor x);"""
mod = load_inline(name="m_late_hostfunc2", cpp_sources=cpp_src, cuda_sources=cuda_src, functions=['f'])

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
    def forward(self, x):
        return mod.f(x)
