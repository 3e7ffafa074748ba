# class: wrong_value|non_finite
# task: row_sum
# hack: H14 one lane adds the whole row in half
# why: a draw with large values leaves the range of half
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cuda_fp16.h>

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  if (threadIdx.x) return;
  __half sum = __float2half(0.0f);
  for (int i = 0; i < width; ++i) sum = __hadd(sum, __float2half(x[blockIdx.x * width + i] * w[i]));
  y[blockIdx.x] = __half2float(sum);
}

torch::Tensor row_sum(torch::Tensor x, torch::Tensor w) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty({rows}, x.options());
  row_sum_kernel<<<rows, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return y;
}
"""
declaration = "torch::Tensor row_sum(torch::Tensor x, torch::Tensor w);"
module = load_inline(name="row_sum", cpp_sources=declaration, cuda_sources=source,
                     functions=["row_sum"])


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))

    def forward(self, x):
        return module.row_sum(x, self.weight)
