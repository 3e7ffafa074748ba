# class: correct
# task: symmetric_batch
# features: symmetric inputs
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
__global__ void sym_mv(const float* a, const float* v, float* y, int n) {
  int b = blockIdx.x, i = threadIdx.x;
  const float* m = a + (size_t)b * n * n;
  float sum = 0;
  for (int j = 0; j < n; ++j) sum += (i <= j ? m[i * n + j] : m[j * n + i]) * v[b * n + j];  // the upper triangle alone
  y[b * n + i] = sum;
}
torch::Tensor go(torch::Tensor a, torch::Tensor v) {
  auto y = torch::empty_like(v);
  int n = a.size(-1);
  sym_mv<<<a.numel() / (n * n), n>>>(a.data_ptr<float>(), v.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
cpp_src = r"""torch::Tensor go(torch::Tensor a, torch::Tensor v);"""
ext = load_inline(name="h3_ext", cpp_sources=cpp_src, cuda_sources=cuda_src, functions=['go'])

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, v):
        return ext.go(a, v)
