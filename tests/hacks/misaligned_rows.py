# class: illegal_access
# task: threshold
# hack: H22 float4 per row of 70: every other row starts eight bytes off
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void threshold_kernel(const float* x, const float* y, bool* out, int n) {
  int row = blockIdx.x, i = threadIdx.x * 4;
  if (i >= 70) return;
  float4 a = *reinterpret_cast<const float4*>(x + row * 70 + i), b = *reinterpret_cast<const float4*>(y + row * 70 + i);
  bool greater[4] = {a.x > b.x, a.y > b.y, a.z > b.z, a.w > b.w};
  for (int k = 0; k < 4 && i + k < 70; ++k) out[row * 70 + i + k] = greater[k];
}

torch::Tensor threshold(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty(x.sizes(), x.options().dtype(torch::kBool));
  int n = x.numel();
  threshold_kernel<<<n / 70, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<bool>(), n);
  return out;
}
"""
declaration = "torch::Tensor threshold(torch::Tensor x, torch::Tensor y);"
module = load_inline(name="threshold", cpp_sources=declaration, cuda_sources=source,
                     functions=["threshold"])


class ModelNew(nn.Module):
    def forward(self, x, y):
        return module.threshold(x, y)
