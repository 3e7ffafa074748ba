# class: correct
# task: buffer_scale
# features: parameters read by the host part at each call, and uploaded to constant memory; the kernel takes them by plain pointers, too
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__constant__ float coefficients[2];

__global__ void scale_kernel(const float* x, float* scale, float* bias, float* y, int width, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int c = i % width;
    float b = c == 0 ? coefficients[0] : c == 1 ? coefficients[1] : bias[c];
    y[i] = tanhf(x[i] * scale[c] + b);
  }
}

torch::Tensor scaled(torch::Tensor x, torch::Tensor scale, torch::Tensor bias, double first, double second) {
  float values[2] = {(float)first, (float)second};
  cudaMemcpyToSymbol(coefficients, values, sizeof values);
  auto y = torch::empty_like(x);
  int n = x.numel();
  scale_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), scale.data_ptr<float>(), bias.data_ptr<float>(),
                                         y.data_ptr<float>(), x.size(1), n);
  return y;
}
"""
module = load_inline(name="buffer_scale", cpp_sources="torch::Tensor scaled(torch::Tensor x, torch::Tensor scale, torch::Tensor bias, double first, double second);", cuda_sources=source,
                     functions=["scaled"])


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("scale", torch.rand(width) + 0.5)
        self.bias = nn.Parameter(torch.randn(width))

    def forward(self, x):
        return module.scaled(x, self.scale, self.bias, self.bias[0].item(), self.bias[1].item())
