# class: correct
# task: varlen_attention
# features: literal offsets, online softmax
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
__global__ void varlen(const float* q, const float* k, const float* v, const int* cu, float* y, int segments) {
  int t = blockIdx.x, f = threadIdx.x;   // a block for each query; 16 features
  int s = 0;
  while (s + 1 < segments && cu[s + 1] <= t) ++s;
  float m = -INFINITY, l = 0, acc = 0;
  for (int j = cu[s]; j < cu[s + 1]; ++j) {
    float dot = 0;
    for (int i = 0; i < 16; ++i) dot += q[t * 16 + i] * k[j * 16 + i];
    dot *= 0.25f;
    float top = fmaxf(m, dot), a = expf(m - top), b = expf(dot - top);
    l = l * a + b; acc = acc * a + b * v[j * 16 + f]; m = top;
  }
  y[t * 16 + f] = acc / l;
}
torch::Tensor go(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor cu) {
  auto y = torch::empty_like(q);
  varlen<<<q.size(0), 16>>>(q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(), cu.data_ptr<int>(), y.data_ptr<float>(), cu.size(0) - 1);
  return y;
}
"""
cpp_src = r"""torch::Tensor go(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor cu);"""
ext = load_inline(name="h3_ext", cpp_sources=cpp_src, cuda_sources=cuda_src, functions=['go'])

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, q, k, v, cu):
        return ext.go(q, k, v, cu)
