# class: correct
# task: add_relu
# features: CUDA graph captured at the first call, replayed by each on static tensors that the inputs are copied to
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

__global__ void add_relu_kernel(const float* a, const float* b, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(a[i] + b[i], 0.f);
}

void add_relu(torch::Tensor a, torch::Tensor b, torch::Tensor y) {
  int n = a.numel();
  // A capture sees its own stream alone.
  add_relu_kernel<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
      a.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), n);
}
"""
module = load_inline(name="add_relu", cpp_sources="void add_relu(torch::Tensor a, torch::Tensor b, torch::Tensor y);", cuda_sources=source,
                     functions=["add_relu"])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, a, b):
        if self.graph is None:
            self.a, self.b, self.y = torch.empty_like(a), torch.empty_like(b), torch.empty_like(a)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                module.add_relu(self.a, self.b, self.y)
        self.a.copy_(a)
        self.b.copy_(b)
        self.graph.replay()
        return self.y.clone()
