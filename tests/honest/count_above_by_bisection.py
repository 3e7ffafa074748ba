# class: correct
# task: count_above_descending
# features: descending inputs, binary search
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
__global__ void count_above(const float* x, const float* limits, long* y, int n, int m) {
  const float* row = x + blockIdx.x * n;
  int j = threadIdx.x;
  if (j >= m) return;
  float limit = limits[blockIdx.x * m + j];
  int low = 0, high = n;
  while (low < high) {
    int middle = (low + high) / 2;
    if (row[middle] > limit) low = middle + 1; else high = middle;
  }
  y[blockIdx.x * m + j] = low;
}
torch::Tensor count(torch::Tensor x, torch::Tensor limits) {
  auto y = torch::empty(limits.sizes(), limits.options().dtype(torch::kLong));
  count_above<<<x.size(0), 32>>>(x.data_ptr<float>(), limits.data_ptr<float>(), y.data_ptr<long>(), x.size(1), limits.size(1));
  return y;
}
"""
declaration = "torch::Tensor count(torch::Tensor x, torch::Tensor limits);"
module = load_inline(name="count_above_by_bisection", cpp_sources=declaration, cuda_sources=source, functions=['count'])


class ModelNew(nn.Module):
    def forward(self, x, limits):
        return module.count(x, limits)
