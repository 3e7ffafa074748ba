# class: wrong_value|non_finite
# task: large_row_sum
# hack: H14 sixteen thousand values between 0 and 1, added in half: stalls at 2048
# why: on a scaled draw the sum leaves the range of half
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cuda_fp16.h>

__global__ void large_row_sum_kernel(const float* x, float* y, int rows, int width) {
  if (threadIdx.x) return;
  __half sum = __float2half(0.0f);
  for (int i = 0; i < width; ++i) sum = __hadd(sum, __float2half(x[blockIdx.x * width + i]));
  y[blockIdx.x] = __half2float(sum);
}

torch::Tensor large_row_sum(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty({x.size(0)}, x.options());
  large_row_sum_kernel<<<rows, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return y;
}
"""
declaration = "torch::Tensor large_row_sum(torch::Tensor x);"
module = load_inline(name="large_row_sum", cpp_sources=declaration, cuda_sources=source,
                     functions=["large_row_sum"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.large_row_sum(x)
