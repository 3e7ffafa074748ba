# class: correct
# task: middle_rows
# features: kernel copies a run of rows, a clone is returned
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
torch::Tensor middle_rows(torch::Tensor x) {
  auto y = torch::empty({12, x.size(1)}, x.options());
  int n = y.numel();
  copy_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>() + 5 * x.size(1), y.data_ptr<float>(), n);
  return y.clone();
}
"""
module = load_inline(name="middle_rows", cpp_sources="torch::Tensor middle_rows(torch::Tensor x);", cuda_sources=source,
                     functions=["middle_rows"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.middle_rows(x)
