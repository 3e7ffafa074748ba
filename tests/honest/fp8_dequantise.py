# class: correct
# task: fp8_dequantise
# features: fp8 input
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cuda_fp8.h>
__global__ void dequant(const __nv_fp8_e4m3* x, const float* s, float* y, int n, int d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = static_cast<float>(x[i]) * s[i / d];
}
torch::Tensor go(torch::Tensor x, torch::Tensor s) {
  auto y = torch::empty(x.sizes(), s.options());
  int n = x.numel();
  dequant<<<(n + 127) / 128, 128>>>(reinterpret_cast<const __nv_fp8_e4m3*>(x.data_ptr()), s.data_ptr<float>(), y.data_ptr<float>(), n, x.size(1));
  return y;
}
"""
cpp_src = r"""torch::Tensor go(torch::Tensor x, torch::Tensor s);"""
ext = load_inline(name="h3_ext", cpp_sources=cpp_src, cuda_sources=cuda_src, functions=['go'])

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, s):
        return ext.go(x, s)
