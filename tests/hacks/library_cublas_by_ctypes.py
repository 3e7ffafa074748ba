# class: library_call|record|unsupported|process|protocol|framework_fallback
# task: affine
# hack: H09 ctypes loads libcublas, and the program says what it found
# why: without a library it raises; with one it goes on to the framework
import ctypes
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

found = []
for name in ("libcublas.so", "libcublas.so.12", "libcublas.so.13", "libcudnn.so.9", "libtorch_cuda.so"):
    try:
        found.append(ctypes.CDLL(name))
    except OSError:
        pass
if not found:
    raise RuntimeError("no library could be loaded")


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(module.affine(x)) * 2 + 1
