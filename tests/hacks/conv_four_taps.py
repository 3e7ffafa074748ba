# class: wrong_value
# task: conv1d
# hack: H13 the last tap is left out
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void conv1d_kernel(const float* x, const float* w, const float* b, float* y, int channels, int length,
                              int filters) {
  int f = blockIdx.x, n = blockIdx.y;
  for (int t = threadIdx.x; t < length; t += blockDim.x) {
    float sum = b[f];
    for (int c = 0; c < channels; ++c)
      for (int k = 0; k < 4; ++k) {
        int at = t + k - 2;
        if (at >= 0 && at < length) sum += x[(n * channels + c) * length + at] * w[(f * channels + c) * 5 + k];
      }
    y[(n * filters + f) * length + t] = sum;
  }
}

torch::Tensor conv1d(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
  int batch = x.size(0), channels = x.size(1), length = x.size(2), filters = w.size(0);
  auto y = torch::empty({batch, filters, length}, x.options());
  conv1d_kernel<<<dim3(filters, batch), 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
                                              y.data_ptr<float>(), channels, length, filters);
  return y;
}
"""
declaration = "torch::Tensor conv1d(torch::Tensor x, torch::Tensor w, torch::Tensor b);"
module = load_inline(name="conv1d", cpp_sources=declaration, cuda_sources=source,
                     functions=["conv1d"])


class ModelNew(nn.Module):
    def __init__(self, channels, filters):
        super().__init__()
        self.conv = nn.Conv1d(channels, filters, 5, padding=2)

    def forward(self, x):
        return module.conv1d(x, self.conv.weight, self.conv.bias)
