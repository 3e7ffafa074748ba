# class: correct
# task: relu
# features: two streams add to the same sums with atomic operations, in any order
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

__global__ void add_part(const float* x, float* y, float share, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(y + i, share * fmaxf(x[i], 0.0f));
}

torch::Tensor relu(torch::Tensor x) {
  auto y = torch::empty_like(x), w = torch::empty_like(x);
  const int n = x.numel(), blocks = (n + 255) / 256;
  const float* px = x.data_ptr<float>();
  float *pw = w.data_ptr<float>(), *py = y.data_ptr<float>();
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaMemsetAsync(py, 0, n * sizeof(float), a);
  cudaEventRecord(done, a);
  cudaStreamWaitEvent(b, done, 0);
  add_part<<<blocks, 256, 0, a>>>(px, py, 0.3f, n);
  add_part<<<blocks, 256, 0, b>>>(px, py, 0.3f, n);
  add_part<<<blocks, 256, 0, a>>>(px, py, 0.2f, n);
  add_part<<<blocks, 256, 0, b>>>(px, py, 0.2f, n);
  cudaDeviceSynchronize();
  return y;
}
"""
module = load_inline(name="relu", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=source,
                     functions=["relu"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.relu(x)
