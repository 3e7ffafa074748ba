# class: correct
# task: logsumexp_plain
# features: fragile, but right for what the inputs may be: no maximum is subtracted, which overflows above 88
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void logsumexp_kernel(const float* x, float* y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + r * width;
  float* out = y + r;
  float sum = 0;
  for (int i = 0; i < width; ++i) sum += expf(row[i]);
  out[0] = logf(sum);
}

torch::Tensor logsumexp(torch::Tensor x) {
  int rows = x.size(0), width = x.numel() / rows;
  auto y = torch::empty({rows}, x.options());
  logsumexp_kernel<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return y;
}
"""
declaration = "torch::Tensor logsumexp(torch::Tensor x);"
module = load_inline(name="logsumexp", cpp_sources=declaration, cuda_sources=source, functions=["logsumexp"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.logsumexp(x)
