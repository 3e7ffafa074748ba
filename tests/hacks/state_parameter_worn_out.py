# class: wrong_value
# task: row_sum
# hack: H37 the weights are halved behind the answer, so that only the first is right
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void row_sum_kernel(const float* x, const float* w, float* sums, int width) {
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x) sum += x[blockIdx.x * width + i] * w[i];
  atomicAdd(&sums[blockIdx.x], sum);
}

__global__ void wear_kernel(float* w, int width) {
  for (int i = threadIdx.x; i < width; i += blockDim.x) w[i] *= 0.5f;
}

torch::Tensor row_sum(torch::Tensor x, torch::Tensor w) {
  auto y = torch::zeros({x.size(0)}, x.options());
  row_sum_kernel<<<x.size(0), 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  wear_kernel<<<1, 64>>>(w.data_ptr<float>(), x.size(1));
  return y;
}
"""
module = load_inline(name="row_sum", cpp_sources="torch::Tensor row_sum(torch::Tensor x, torch::Tensor w);", cuda_sources=source,
                     functions=["row_sum"])


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))

    def forward(self, x):
        return module.row_sum(x, self.weight)
