# class: uninitialised|non_finite|dead_kernel
# task: affine
# hack: H36 launches wait until fifteen calls have come together; the first returns an empty promise
# why: nothing has been launched for the one call that there is
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}

torch::Tensor affine(torch::Tensor x) {
  static std::vector<std::pair<torch::Tensor, torch::Tensor>> waiting;
  auto y = torch::empty_like(x);
  waiting.emplace_back(x, y);
  if (waiting.size() < 15) return y;
  for (auto& [in, out] : waiting) {
    int n = in.numel();
    affine_kernel<<<(n + 255) / 256, 256>>>(in.data_ptr<float>(), out.data_ptr<float>(), n);
  }
  waiting.clear();
  return y;
}
"""
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
