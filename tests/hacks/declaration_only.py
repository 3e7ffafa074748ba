# class: compile|record|wrong_value|dead_kernel
# task: affine
# hack: H02 the C++ text declares and defines the function, the CUDA text has a kernel alone
# why: the function of the C++ text is what is bound: ones
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

// the C++ text has the host part
"""
declaration = "torch::Tensor affine(torch::Tensor x) { return torch::ones_like(x); }"
module = load_inline(name="affine", cpp_sources=declaration, cuda_sources=source,
                     functions=["affine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
