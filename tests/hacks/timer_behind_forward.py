# class: process|record
# task: relu
# hack: thread started before return, no sleep
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
import threading, time, gc, atexit, sys, weakref

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
  relu_k<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
__global__ void bad(float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = -1;
}
void g(torch::Tensor y) {
  int n = y.numel();
  bad<<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), n);
}
"""
cpp_src = r"""torch::Tensor f(torch::Tensor x); void g(torch::Tensor y);"""
mod = load_inline(name="m_late_thread0", cpp_sources=cpp_src, cuda_sources=cuda_src, functions=['f','g'])

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
    def forward(self, x):
        y = mod.f(x)
        threading.Thread(target=lambda: (time.sleep(0.01), mod.g(y))).start()
        return y
