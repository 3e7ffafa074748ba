# class: correct
# task: gated
# features: fragile, but right for what the inputs may be: the gate is e^g / (1 + e^g), which is no number where e^g overflows
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void gated_kernel(const float* x, const float* gate, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * expf(gate[i]) / (1.0f + expf(gate[i]));
}

torch::Tensor gated(torch::Tensor x, torch::Tensor gate) {
  int n = x.numel();
  auto y = torch::empty_like(x);
  gated_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), gate.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
declaration = "torch::Tensor gated(torch::Tensor x, torch::Tensor gate);"
module = load_inline(name="gated", cpp_sources=declaration, cuda_sources=source, functions=["gated"])


class ModelNew(nn.Module):
    def forward(self, x, gate):
        return module.gated(x, gate)
