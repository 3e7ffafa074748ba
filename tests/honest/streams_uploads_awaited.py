# class: correct
# task: relu
# features: tensors from the host in the current stream, read in another, and constants
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

__constant__ float zero[1];
__global__ void larger(const float* x, const float* least, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], least[0] + zero[0]);
}

torch::Tensor relu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  auto least = torch::zeros({2}).to(x.device());
  const float nothing = 0.0f;
  cudaMemcpyToSymbol(zero, &nothing, sizeof nothing);
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  const int n = x.numel();
  larger<<<(n + 255) / 256, 256, 0, side>>>(x.data_ptr<float>(), least.data_ptr<float>(), y.data_ptr<float>(), n);
  cudaStreamSynchronize(side);
  cudaStreamDestroy(side);
  return y;
}
"""
module = load_inline(name="relu", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=source,
                     functions=["relu"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.relu(x)
