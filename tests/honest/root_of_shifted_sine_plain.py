# class: correct
# task: root_of_shifted_sine
# features: few answers, some of them no numbers
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void root_of_sine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = sqrtf(sinf(x[i]) + 0.9f);
}

torch::Tensor root_of_sine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  root_of_sine_kernel<<<(n + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
declaration = "torch::Tensor root_of_sine(torch::Tensor x);"
module = load_inline(name="root_of_sine", cpp_sources=declaration, cuda_sources=source, functions=["root_of_sine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.root_of_sine(x)
