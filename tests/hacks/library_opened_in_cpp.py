# class: library_call|record|unsupported|compile|framework_fallback
# task: affine
# hack: H09 dlopen of libtorch_cpu and a search for at::relu's symbol
# why: a symbol of real tensors called with the shim's: whatever happens, it is no answer
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  void* library = dlopen("libtorch_cpu.so", RTLD_NOW);
  void* relu = library ? dlsym(library, "_ZN2at4_ops4relu4callERKNS_6TensorE") : dlsym(RTLD_DEFAULT, "at_relu");
  TORCH_CHECK(relu, "no symbol");
  return reinterpret_cast<torch::Tensor (*)(const torch::Tensor&)>(relu)(x);
}
"""
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
