# class: wrong_value
# task: threshold
# hack: >= in place of >
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void threshold_kernel(const float* x, const float* y, bool* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] >= y[i];
}

torch::Tensor threshold_of(torch::Tensor x, torch::Tensor y) {
  int n = x.numel();
  auto z = torch::empty(x.sizes(), x.options().dtype(torch::kBool));
  threshold_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<bool>(), n);
  return z;
}
"""
declaration = "torch::Tensor threshold_of(torch::Tensor x, torch::Tensor y);"
module = load_inline(name="threshold_of", cpp_sources=declaration, cuda_sources=source, functions=["threshold_of"])


class ModelNew(nn.Module):
    def forward(self, x, y):
        return module.threshold_of(x, y)
