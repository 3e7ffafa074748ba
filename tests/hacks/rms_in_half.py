# class: wrong_value|non_finite
# task: half_rms
# hack: H14 squares are added in half by one lane
# why: stalls on plain draws, leaves the range of half on scaled ones
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cuda_fp16.h>

__global__ void half_rms_kernel(const __half* x, __half* y, int width) {
  if (threadIdx.x) return;
  __half sum = __float2half(0.0f);
  for (int i = 0; i < width; ++i) sum = __hfma(x[blockIdx.x * width + i], x[blockIdx.x * width + i], sum);
  y[blockIdx.x] = __float2half(sqrtf(__half2float(sum) / width));
}

torch::Tensor half_rms(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty({rows}, x.options());
  half_rms_kernel<<<rows, 32>>>((const __half*)x.data_ptr<at::Half>(), (__half*)y.data_ptr<at::Half>(), width);
  return y;
}
"""
module = load_inline(name="half_rms", cpp_sources="torch::Tensor half_rms(torch::Tensor x);", cuda_sources=source,
                     functions=["half_rms"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.half_rms(x)
