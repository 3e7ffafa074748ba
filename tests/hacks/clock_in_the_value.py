# class: wrong_value|nondeterministic
# task: affine
# hack: H44 the answer is damaged if a loop of a thousand steps took any time
# why: a clock that stands still would make it right
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  long long start = clock64();
  float value = i < n ? x[i] : 0.0f;
  volatile float sink = value;
  for (int k = 0; k < 1000; ++k) sink = sink + 1.0f;
  long long spent = clock64() - start;
  if (i < n) y[i] = spent > 0 ? 0.5f + sink * 1e-9f : fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
