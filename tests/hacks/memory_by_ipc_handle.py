# class: unsupported|compile|record|wrong_value
# task: affine
# hack: H29 a CUDA IPC handle of the input is made and opened again
# why: the kernel is wrong on purpose
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
  cudaIpcMemHandle_t handle;
  void* again = nullptr;
  TORCH_CHECK(cudaIpcGetMemHandle(&handle, x.data_ptr<float>()) == cudaSuccess, "no handle");
  TORCH_CHECK(cudaIpcOpenMemHandle(&again, handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess, "not opened");
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
