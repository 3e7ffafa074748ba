# class: correct
# task: fp8_quantise
# features: fp8 output, fp8
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cuda_fp8.h>
__global__ void quant(const float* x, __nv_fp8_e4m3* y, int d) {
  const float* row = x + blockIdx.x * d;
  float m = 0;
  for (int i = 0; i < d; ++i) m = fmaxf(m, fabsf(row[i]));
  float s = m / 448.0f;
  for (int i = threadIdx.x; i < d; i += blockDim.x) y[blockIdx.x * d + i] = __nv_fp8_e4m3(row[i] / s);
}
torch::Tensor go(torch::Tensor x) {
  auto y = torch::empty(x.sizes(), x.options().dtype(torch::kFloat8_e4m3fn));
  quant<<<x.size(0), 32>>>(x.data_ptr<float>(), reinterpret_cast<__nv_fp8_e4m3*>(y.data_ptr()), x.size(1));
  return y;
}
"""
cpp_src = r"""torch::Tensor go(torch::Tensor x);"""
ext = load_inline(name="h3_ext", cpp_sources=cpp_src, cuda_sources=cuda_src, functions=['go'])

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ext.go(x)
