# class: wrong_value
# task: quantise
# hack: H20 rounds where the reference floors: off by one in half of the places
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void quantise_kernel(const float* x, int8_t* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = (int8_t)fminf(fmaxf(rintf(x[i] * 16), -128.0f), 127.0f);
}

torch::Tensor quantise(torch::Tensor x) {
  auto y = torch::empty(x.sizes(), x.options().dtype(torch::kInt8));
  int n = x.numel();
  quantise_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<int8_t>(), n);
  return y;
}
"""
module = load_inline(name="quantise", cpp_sources="torch::Tensor quantise(torch::Tensor x);", cuda_sources=source,
                     functions=["quantise"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.quantise(x)
