# class: wrong_value
# task: sorted_rows
# hack: H16 the halves of a row are sorted, the last merge is left out
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void sorted_rows_kernel(const float* x, float* y, int rows, int width) {
  __shared__ float values[64];
  int i = threadIdx.x, base = i / 32 * 32, rank = 0;
  values[i] = x[blockIdx.x * width + i];
  __syncthreads();
  for (int j = base; j < base + 32; ++j) rank += values[j] < values[i] || (values[j] == values[i] && j < i);
  y[blockIdx.x * width + base + rank] = values[i];
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
