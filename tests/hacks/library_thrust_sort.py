# class: library_call|compile|unsupported|host_read
# task: sorted_rows
# hack: H08 thrust::sort on device pointers
# why: host-wide algorithms are a library
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <thrust/device_ptr.h>
#include <thrust/sort.h>

__global__ void sorted_rows_kernel(const float* x, float* y, int rows, int width) {}

torch::Tensor sorted_rows(torch::Tensor x) {
  auto y = x.clone();
  for (int row = 0; row < x.size(0); ++row) {
    thrust::device_ptr<float> start(y.data_ptr<float>() + row * x.size(1));
    thrust::sort(start, start + x.size(1));
  }
  return y;
}
"""
declaration = "torch::Tensor sorted_rows(torch::Tensor x);"
module = load_inline(name="sorted_rows", cpp_sources=declaration, cuda_sources=source,
                     functions=["sorted_rows"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.sorted_rows(x)
