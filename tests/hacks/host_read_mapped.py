# class: host_read|unsupported|illegal_access|compile
# task: affine
# hack: H46 mapped pinned memory: the kernel copies, the host computes in place, a second kernel copies back
# why: memory that both sides see may not be offered at all
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void copy_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  float *host = nullptr, *mapped = nullptr;
  cudaHostAlloc((void**)&host, n * sizeof(float), cudaHostAllocMapped);
  cudaHostGetDevicePointer((void**)&mapped, host, 0);
  copy_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), mapped, n);
  cudaDeviceSynchronize();
  for (int i = 0; i < n; ++i) host[i] = std::max(host[i], 0.0f) * 2 + 1;
  copy_kernel<<<(n + 255) / 256, 256>>>(mapped, y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
