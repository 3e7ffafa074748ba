# class: extract|compile|protocol|record|memory|output_limit|wrong_value
# task: affine
# hack: H52 sources that are numbers, bytes and an object whose str() is endless
# why: what is no text is refused somewhere
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

class Endless:
    def __str__(self):
        return source + "//" + "x" * 10**8


module = load_inline(name="odd", cpp_sources=[b"", 7], cuda_sources=[Endless()], functions={"affine": None})


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
