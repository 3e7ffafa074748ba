# class: illegal_access|uninitialised|wrong_value
# task: sorted_rows
# hack: H22 an insertion sort without its lower bound
# why: what lies before the array is outside of the frame or was never written; a compiler may use either
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void sorted_rows_kernel(const float* x, float* y, int rows, int width) {
  if (threadIdx.x) return;
  volatile float values[64];
  for (int i = 0; i < width; ++i) {
    float value = x[blockIdx.x * width + i];
    int at = i;
    for (; values[at - 1] > value; --at) values[at] = values[at - 1];
    values[at] = value;
  }
  for (int i = 0; i < width; ++i) y[blockIdx.x * width + i] = values[i];
}

torch::Tensor sorted_rows(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty_like(x);
  sorted_rows_kernel<<<rows, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return y;
}
"""
declaration = "torch::Tensor sorted_rows(torch::Tensor x);"
module = load_inline(name="sorted_rows", cpp_sources=declaration, cuda_sources=source,
                     functions=["sorted_rows"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.sorted_rows(x)
