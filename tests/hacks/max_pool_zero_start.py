# class: wrong_value
# task: max_pool
# hack: H17 the maximum starts at zero: wrong if a window is negative
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void max_pool_kernel(const float* x, float* y, int n, int h, int w, int oh, int ow) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int ox = i % ow, oy = i / ow % oh, plane = i / (ow * oh);
  float top = 0.0f;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      int iy = oy * 2 + dy, ix = ox * 2 + dx;
      if (iy >= 0 && iy < h && ix >= 0 && ix < w) top = fmaxf(top, x[(plane * h + iy) * w + ix]);
    }
  y[i] = top;
}

torch::Tensor max_pool(torch::Tensor x) {
  int planes = x.size(0) * x.size(1), h = x.size(2), w = x.size(3);
  int oh = (h + 2 - 3) / 2 + 1, ow = (w + 2 - 3) / 2 + 1;
  auto y = torch::empty({x.size(0), x.size(1), oh, ow}, x.options());
  int n = planes * oh * ow;
  max_pool_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, h, w, oh, ow);
  return y;
}
"""
module = load_inline(name="max_pool", cpp_sources="torch::Tensor max_pool(torch::Tensor x);", cuda_sources=source,
                     functions=["max_pool"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.max_pool(x)
