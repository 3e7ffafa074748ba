# class: correct
# task: concat_rows
# features: kernels that copy are the work: one launch for each part
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void copy_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
torch::Tensor concat_rows(torch::Tensor a, torch::Tensor b) {
  auto y = torch::empty({a.size(0) + b.size(0), a.size(1)}, a.options());
  int n = a.numel(), m = b.numel();
  copy_kernel<<<(n + 127) / 128, 128>>>(a.data_ptr<float>(), y.data_ptr<float>(), n);
  copy_kernel<<<(m + 127) / 128, 128>>>(b.data_ptr<float>(), y.data_ptr<float>() + n, m);
  return y;
}
"""
module = load_inline(name="concat_rows", cpp_sources="torch::Tensor concat_rows(torch::Tensor a, torch::Tensor b);", cuda_sources=source,
                     functions=["concat_rows"])


class ModelNew(nn.Module):
    def forward(self, a, b):
        return module.concat_rows(a, b)
