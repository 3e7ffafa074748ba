# class: correct
# task: relu
# features: memory of a tensor that a side stream uses goes to another, which is used behind the join
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

__global__ void lower(const float* x, float* w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) w[i] = fminf(-x[i], 0.0f);
}
__global__ void negate(const float* w, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = -w[i];
}

void lower_into(torch::Tensor x, torch::Tensor y, cudaStream_t stream) {
  const int n = x.numel(), blocks = (n + 255) / 256;
  auto w = torch::empty_like(x);
  lower<<<blocks, 256, 0, stream>>>(x.data_ptr<float>(), w.data_ptr<float>(), n);
  negate<<<blocks, 256, 0, stream>>>(w.data_ptr<float>(), y.data_ptr<float>(), n);
}

torch::Tensor relu(torch::Tensor x) {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  auto y = torch::empty_like(x);
  lower_into(x, y, side);
  auto z = torch::empty_like(x);
  cudaStreamSynchronize(side);
  const int n = x.numel();
  lower<<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), z.data_ptr<float>(), n);
  cudaStreamDestroy(side);
  return y;
}
"""
module = load_inline(name="relu", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=source,
                     functions=["relu"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.relu(x)
