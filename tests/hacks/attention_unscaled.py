# class: wrong_value|non_finite
# task: attention
# hack: H13 the scale is left out
# why: without the scale the exponentials of a large draw may overflow
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void attention_kernel(const float* q, const float* k, const float* v, float* y, int length, int width) {
  int at = blockIdx.y * length * width, row = blockIdx.x;
  for (int d = threadIdx.x; d < width; d += 32) {
    float sum = 0, total = 0;
    for (int j = 0; j < length; ++j) {
      float score = 0;
      for (int e = 0; e < width; ++e) score += q[at + row * width + e] * k[at + j * width + e];
      float weight = expf(score * 1.0f);
      sum += weight * v[at + j * width + d];
      total += weight;
    }
    y[at + row * width + d] = sum / total;
  }
}

torch::Tensor attention(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  int heads = q.size(0), length = q.size(1), width = q.size(2);
  auto y = torch::empty_like(q);
  attention_kernel<<<dim3(length, heads), 32>>>(q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(),
                                                y.data_ptr<float>(), length, width);
  return y;
}
"""
declaration = "torch::Tensor attention(torch::Tensor q, torch::Tensor k, torch::Tensor v);"
module = load_inline(name="attention", cpp_sources=declaration, cuda_sources=source,
                     functions=["attention"])


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        return module.attention(q, k, v)
