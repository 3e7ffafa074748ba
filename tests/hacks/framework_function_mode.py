# class: framework_fallback
# task: affine
# hack: H01 a TorchFunctionMode replaces empty_like by the answer
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
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

from torch.overrides import TorchFunctionMode


class Answers(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.empty_like:
            return function(*args).copy_(args[0]).clamp_(min=0).mul_(2).add_(1)
        return function(*args, **(kwargs or {}))


class ModelNew(nn.Module):
    def forward(self, x):
        module.affine(x)
        with Answers():
            return torch.empty_like(x)
