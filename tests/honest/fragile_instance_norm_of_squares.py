# class: correct
# task: instance_norm_plain
# features: fragile, but right for what the inputs may be: a variance as the difference of two means, which cancels far from zero
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void instance_norm_kernel(const float* x, float* y, int size) {
  const float* in = x + blockIdx.x * size;
  __shared__ float sum, squares;
  if (threadIdx.x == 0) {
    sum = squares = 0;
    for (int i = 0; i < size; ++i) {
      sum += in[i];
      squares += in[i] * in[i];
    }
  }
  __syncthreads();
  float mean = sum / size, variance = fmaxf(squares / size - mean * mean, 0.0f);
  for (int i = threadIdx.x; i < size; i += 32) y[blockIdx.x * size + i] = (in[i] - mean) * rsqrtf(variance + 1e-5f);
}

torch::Tensor instance_norm(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int size = x.size(2) * x.size(3);
  instance_norm_kernel<<<x.size(0) * x.size(1), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), size);
  return y;
}
"""
declaration = "torch::Tensor instance_norm(torch::Tensor x);"
module = load_inline(name="instance_norm", cpp_sources=declaration, cuda_sources=source, functions=["instance_norm"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.instance_norm(x)
