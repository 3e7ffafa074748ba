# class: uninitialised|wrong_value
# task: bin_counts
# hack: H25 counts are added to an output that nobody cleared
# why: where definedness is not followed, the poison is added to the counts
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void bin_counts_kernel(const int64_t* labels, int64_t* y, int width) {
  for (int i = threadIdx.x; i < width; i += 32)
    atomicAdd(reinterpret_cast<unsigned long long*>(y) + blockIdx.x * 8 + labels[blockIdx.x * width + i], 1ull);
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
