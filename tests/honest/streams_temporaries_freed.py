# class: correct
# task: relu
# features: tensors of a side stream that are freed before others are made, in its guard; record_stream
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

torch::Tensor relu(torch::Tensor x) {
  const int n = x.numel(), blocks = (n + 255) / 256;
  const auto caller = at::cuda::getCurrentCUDAStream();
  const auto side = at::cuda::getStreamFromPool();
  cudaEvent_t begun, done;
  cudaEventCreateWithFlags(&begun, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaEventRecord(begun, caller);
  cudaStreamWaitEvent(side, begun, 0);
  auto y = torch::empty_like(x);
  y.record_stream(side);
  for (int k = 0; k < 3; ++k) {
    c10::cuda::CUDAStreamGuard guard(side);
    auto w = torch::empty_like(x);
    lower<<<blocks, 256, 0, side>>>(x.data_ptr<float>(), w.data_ptr<float>(), n);
    negate<<<blocks, 256, 0, side>>>(w.data_ptr<float>(), y.data_ptr<float>(), n);
  }
  auto z = torch::empty_like(x);
  cudaEventRecord(done, side);
  cudaStreamWaitEvent(caller, done, 0);
  lower<<<blocks, 256, 0, caller>>>(x.data_ptr<float>(), z.data_ptr<float>(), n);
  negate<<<blocks, 256, 0, caller>>>(z.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(name="relu", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=source,
                     functions=["relu"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.relu(x)
