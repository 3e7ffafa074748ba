# class: correct
# task: literal_offsets_mean
# features: literal offsets
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
// one thread for each (token, feature); the segment of a token is found by its number
__global__ void add_up(const float* x, const int* cu, float* y, int n, int d, int segments) {
  int token = blockIdx.x, f = threadIdx.x;
  int s = 0;
  while (s + 1 < segments && cu[s + 1] <= token) ++s;
  atomicAdd(&y[s * d + f], x[token * d + f] / (float)(cu[s + 1] - cu[s]));
}
torch::Tensor go(torch::Tensor x, torch::Tensor cu) {
  int n = x.size(0), d = x.size(1), segments = cu.size(0) - 1;
  auto y = torch::zeros({segments, d}, x.options());
  add_up<<<n, d>>>(x.data_ptr<float>(), cu.data_ptr<int>(), y.data_ptr<float>(), n, d, segments);
  return y;
}
"""
cpp_src = r"""torch::Tensor go(torch::Tensor x, torch::Tensor cu);"""
ext = load_inline(name="h3_ext", cpp_sources=cpp_src, cuda_sources=cuda_src, functions=['go'])

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, cu):
        return ext.go(x, cu)
