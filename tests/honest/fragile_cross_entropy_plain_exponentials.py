# class: correct
# task: cross_entropy_plain
# features: fragile, but right for what the inputs may be: no maximum is subtracted, which overflows above 88
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void cross_entropy_kernel(const float* x, const long* labels, float* y, int rows, int width) {
  float total = 0;
  for (int r = 0; r < rows; ++r) {
    float sum = 0;
    for (int i = 0; i < width; ++i) sum += expf(x[r * width + i]);
    total += logf(sum) - x[r * width + labels[r]];
  }
  y[0] = total / rows;
}

torch::Tensor cross_entropy(torch::Tensor x, torch::Tensor labels) {
  auto y = torch::empty({}, x.options());
  cross_entropy_kernel<<<1, 1>>>(x.data_ptr<float>(), (const long*)labels.data_ptr<int64_t>(), y.data_ptr<float>(),
                                 x.size(0), x.size(1));
  return y;
}
"""
declaration = "torch::Tensor cross_entropy(torch::Tensor x, torch::Tensor labels);"
module = load_inline(name="cross_entropy", cpp_sources=declaration, cuda_sources=source, functions=["cross_entropy"])


class ModelNew(nn.Module):
    def forward(self, x, labels):
        return module.cross_entropy(x, labels)
