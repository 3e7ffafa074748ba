# class: correct
# task: relu
# features: independent parts in four streams, each joined by an event of its own
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

__global__ void positive(const float* x, float* y, int begin, int end) {
  int i = begin + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < end) y[i] = fmaxf(x[i], 0.0f);
}

torch::Tensor relu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int n = x.numel(), part = (n + 3) / 4;
  const auto caller = at::cuda::getCurrentCUDAStream();
  cudaEvent_t begun;
  cudaEventCreateWithFlags(&begun, cudaEventDisableTiming);
  cudaEventRecord(begun, caller);
  for (int k = 0; k < 4; ++k) {
    cudaStream_t stream;
    cudaEvent_t done;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    cudaStreamWaitEvent(stream, begun, 0);
    const int begin = k * part, end = min(n, begin + part);
    positive<<<(part + 255) / 256, 256, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), begin, end);
    cudaEventRecord(done, stream);
    cudaStreamWaitEvent(caller, done, 0);
    cudaEventDestroy(done);
    cudaStreamDestroy(stream);
  }
  cudaEventDestroy(begun);
  return y;
}
"""
module = load_inline(name="relu", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=source,
                     functions=["relu"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.relu(x)
