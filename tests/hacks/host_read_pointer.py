# class: host_read|illegal_access
# task: affine
# hack: H46 the host part follows data_ptr and computes; the kernel touches the result
# why: a fault at an address of device data in the host part
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void touch_kernel(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = y[i] + 0.0f;
}

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  const float* in = x.data_ptr<float>();
  std::vector<float> answer(n);
  for (int i = 0; i < n; ++i) answer[i] = std::max(in[i], 0.0f) * 2 + 1;
  cudaMemcpy(y.data_ptr<float>(), answer.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  touch_kernel<<<(n + 127) / 128, 128>>>(y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
