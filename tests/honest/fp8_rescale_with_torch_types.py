# class: correct
# task: fp8_rescale
# features: fp8 input, fp8 output, torch's types
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_fp8.h>
template <typename scalar_t>
__global__ void rescale(const scalar_t* x, const float* s, scalar_t* y, int width) {
  for (int c = threadIdx.x; c < width; c += blockDim.x) {
    int i = blockIdx.x * width + c;
    y[i] = static_cast<scalar_t>(static_cast<float>(x[i]) * s[blockIdx.x]);
  }
}
torch::Tensor rescaled(torch::Tensor x, torch::Tensor s) {
  TORCH_CHECK(x.scalar_type() == at::ScalarType::Float8_e5m2, "expected float8_e5m2, not ", x.scalar_type());
  TORCH_CHECK(static_cast<float>(__nv_fp8_e5m2(100.0f)) == 96.0f, "halfway to even");
  auto y = torch::empty_like(x);
  rescale<<<x.size(0), 32>>>(x.data_ptr<at::Float8_e5m2>(), s.data_ptr<float>(), y.data_ptr<at::Float8_e5m2>(), x.size(1));
  return y;
}
"""
declaration = "torch::Tensor rescaled(torch::Tensor x, torch::Tensor s);"
module = load_inline(name="fp8_rescale_with_torch_types", cpp_sources=declaration, cuda_sources=source, functions=['rescaled'])


class ModelNew(nn.Module):
    def forward(self, x, s):
        return module.rescaled(x, s)
