# class: correct
# task: relu
# features: call by call another buffer of a ring of five, each made when it is first needed
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void relu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.f);
}
torch::Tensor relu_ring(torch::Tensor x) {
  static std::vector<torch::Tensor> ring;
  static size_t calls = 0;
  if (ring.size() < 5) ring.push_back(torch::empty_like(x));
  auto y = ring[calls++ % 5];
  int n = x.numel();
  relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(name="relu_ring", cpp_sources="torch::Tensor relu_ring(torch::Tensor x);", cuda_sources=source,
                     functions=["relu_ring"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.relu_ring(x)
