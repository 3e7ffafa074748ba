# class: correct
# task: literal_permutation
# features: literal indices of which one undoes the other
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
// Row r goes to where `inverse` has it, as x[order][inverse[r]] is x[r].
__global__ void scatter_rows(const float* x, const long* order, const long* inverse, float* y, int width) {
  int r = blockIdx.x;
  for (int c = threadIdx.x; c < width; c += blockDim.x) {
    atomicAdd(&y[inverse[r] * width + c], 2.0f * x[r * width + c]);
    atomicAdd(&y[order[r] * width + c], x[r * width + c]);
  }
}
torch::Tensor rows(torch::Tensor x, torch::Tensor order, torch::Tensor inverse) {
  auto y = torch::zeros_like(x);
  scatter_rows<<<x.size(0), 32>>>(x.data_ptr<float>(), order.data_ptr<long>(), inverse.data_ptr<long>(), y.data_ptr<float>(),
                                  x.size(1));
  return y;
}
"""
declaration = "torch::Tensor rows(torch::Tensor x, torch::Tensor order, torch::Tensor inverse);"
module = load_inline(name="literal_permutation_by_inverse", cpp_sources=declaration, cuda_sources=source, functions=['rows'])


class ModelNew(nn.Module):
    def forward(self, x, order, inverse):
        return module.rows(x, order, inverse)
