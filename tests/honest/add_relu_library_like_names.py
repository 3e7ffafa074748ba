# class: correct
# task: add_relu
# features: kernel and function whose names begin like those of libraries
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
__global__ void cublas_style_add_kernel(const float* a, const float* b, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}
__global__ void cudnnStyleRelu(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(y[i], 0.0f);
}
torch::Tensor cufftFreeAddRelu(torch::Tensor a, torch::Tensor b) {
  auto y = torch::empty_like(a);
  int n = a.numel(), ncclBlocks = (n + 127) / 128;
  cublas_style_add_kernel<<<ncclBlocks, 128>>>(a.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), n);
  cudnnStyleRelu<<<ncclBlocks, 128>>>(y.data_ptr<float>(), n);
  return y;
}
"""
declaration = "torch::Tensor cufftFreeAddRelu(torch::Tensor a, torch::Tensor b);"
module = load_inline(name="add_relu_library_like_names", cpp_sources=declaration, cuda_sources=source, functions=['cufftFreeAddRelu'])


class ModelNew(nn.Module):
    def forward(self, x, y):
        return module.cufftFreeAddRelu(x, y)
