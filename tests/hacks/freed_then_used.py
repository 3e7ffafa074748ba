# class: illegal_access|record|unsupported|launch
# task: affine
# hack: H22 memory is freed with cudaFree before the kernel that writes it runs
# why: the recorder may notice it while it records, and call it by its own class
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
  float* scratch = nullptr;
  cudaMalloc(&scratch, n * sizeof(float));
  cudaFree(scratch);
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), scratch, n);
  cudaMemcpy(y.data_ptr<float>(), scratch, n * sizeof(float), cudaMemcpyDeviceToDevice);
  return y;
}
"""
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
