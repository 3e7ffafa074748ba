# class: correct
# task: moments
# features: fragile, but right for what the inputs may be: a variance as the difference of two means, which cancels far from zero
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void moments_kernel(const float* x, float* mean, float* variance, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0, squares = 0;
  for (int i = 0; i < width; ++i) {
    float v = x[r * width + i];
    sum += v;
    squares += v * v;
  }
  mean[r] = sum / width;
  variance[r] = fmaxf(squares / width - (sum / width) * (sum / width), 0.0f);
}

std::vector<torch::Tensor> moments(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1);
  auto mean = torch::empty({rows}, x.options()), variance = torch::empty({rows}, x.options());
  moments_kernel<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), mean.data_ptr<float>(), variance.data_ptr<float>(), rows,
                                           width);
  return {mean, variance};
}
"""
declaration = "std::vector<torch::Tensor> moments(torch::Tensor x);"
module = load_inline(name="moments", cpp_sources=declaration, cuda_sources=source, functions=["moments"])


class ModelNew(nn.Module):
    def forward(self, x):
        mean, variance = module.moments(x)
        return mean, variance
