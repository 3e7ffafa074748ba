# class: wrong_value
# task: bin_counts
# hack: H14 counted in a float above 2^24, whose step is two
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void bin_counts_kernel(const int64_t* labels, int64_t* y, int width) {
  int bin = threadIdx.x;
  if (bin >= 8) return;
  volatile float count = 16777216.0f;
  for (int i = 0; i < width; ++i)
    if (labels[blockIdx.x * width + i] == bin) count = count + 1.0f;
  y[blockIdx.x * 8 + bin] = (int64_t)(count - 16777216.0f);
}

torch::Tensor bin_counts(torch::Tensor labels) {
  int rows = labels.size(0), width = labels.size(1);
  auto y = torch::empty({rows, 8}, labels.options());
  bin_counts_kernel<<<rows, 32>>>(labels.data_ptr<int64_t>(), y.data_ptr<int64_t>(), width);
  return y;
}
"""
declaration = "torch::Tensor bin_counts(torch::Tensor labels);"
module = load_inline(name="bin_counts", cpp_sources=declaration, cuda_sources=source,
                     functions=["bin_counts"])


class ModelNew(nn.Module):
    def forward(self, labels):
        return module.bin_counts(labels)
