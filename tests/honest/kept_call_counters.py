# class: correct
# task: add_relu
# features: calls are counted in Python, in the host part and on the device, and the counts are not used
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ unsigned long long launches;

__global__ void add_relu_kernel(const float* a, const float* b, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) atomicAdd(&launches, 1ull);
  if (i < n) y[i] = fmaxf(a[i] + b[i], 0.f);
}

static int64_t calls = 0;
int64_t count() { return calls; }

torch::Tensor add_relu(torch::Tensor a, torch::Tensor b) {
  ++calls;
  auto y = torch::empty_like(a);
  int n = a.numel();
  add_relu_kernel<<<(n + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(name="add_relu", cpp_sources="torch::Tensor add_relu(torch::Tensor a, torch::Tensor b); int64_t count();", cuda_sources=source,
                     functions=["add_relu", "count"])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, a, b):
        self.calls += 1
        y = module.add_relu(a, b)
        assert module.count() == self.calls
        return y
