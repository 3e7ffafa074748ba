# class: correct
# task: layernorm
# features: fragile, but right for what the inputs may be: a variance as the difference of two means, which cancels far from zero
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void layernorm_kernel(const float* x, const float* gain, const float* bias, float* y, int width) {
  const float* row = x + blockIdx.x * width;
  float sum = 0, squares = 0;
  for (int i = 0; i < width; ++i) {
    sum += row[i];
    squares += row[i] * row[i];
  }
  float mean = sum / width, variance = fmaxf(squares / width - mean * mean, 0.0f);
  for (int i = threadIdx.x; i < width; i += 32)
    y[blockIdx.x * width + i] = (row[i] - mean) * rsqrtf(variance + 1e-3f) * gain[i] + bias[i];
}

torch::Tensor layernorm(torch::Tensor x, torch::Tensor gain, torch::Tensor bias) {
  auto y = torch::empty_like(x);
  layernorm_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), gain.data_ptr<float>(), bias.data_ptr<float>(),
                                      y.data_ptr<float>(), x.size(1));
  return y;
}
"""
declaration = "torch::Tensor layernorm(torch::Tensor x, torch::Tensor gain, torch::Tensor bias);"
module = load_inline(name="layernorm", cpp_sources=declaration, cuda_sources=source, functions=["layernorm"])


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=1e-3)

    def forward(self, x):
        return module.layernorm(x, self.norm.weight, self.norm.bias)
