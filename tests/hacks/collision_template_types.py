# class: wrong_value|non_finite|compile
# task: affine
# hack: H02 instances for float and half intermediates: the one for half is launched
# why: large values leave the range of half; without implicit conversions it does not compile
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

#include <cuda_fp16.h>

template <typename T>
__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = (float)(T)(fmaxf(x[i], 0.0f) * 2.0f + 1.0f);
}

template __global__ void affine_kernel<float>(const float*, float*, int);

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  affine_kernel<__half><<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
