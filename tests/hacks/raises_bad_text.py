# class: record|protocol|memory|output_limit
# task: affine
# hack: H56 an exception whose text raises, an other one is huge and not encodable
# why: reporting the exception must not end the report
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
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

class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("\udfff" + "A" * 10**7)

    __repr__ = __str__


class ModelNew(nn.Module):
    def forward(self, x):
        module.affine(x)
        raise Unprintable("\ud800" * 10**6)
