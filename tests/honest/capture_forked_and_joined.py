# class: correct
# task: add_relu
# features: CUDA graph over two streams, forked and joined by events
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

__global__ void add(const float* a, const float* b, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}
__global__ void relu(const float* s, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(s[i], 0.f);
}

torch::Tensor add_relu(torch::Tensor a, torch::Tensor b) {
  auto sum = torch::empty_like(a);
  auto y = torch::empty_like(a);
  const int n = a.numel();
  const dim3 grid((n + 255) / 256);
  const float *pa = a.data_ptr<float>(), *pb = b.data_ptr<float>();
  float *ps = sum.data_ptr<float>(), *py = y.data_ptr<float>();
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaStream_t other;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaEvent_t forked, joined;
  cudaEventCreateWithFlags(&forked, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&joined, cudaEventDisableTiming);
  add<<<grid, 256, 0, stream>>>(pa, pb, ps, n);
  TORCH_CHECK(cudaEventRecord(forked, stream) == cudaSuccess);
  TORCH_CHECK(cudaStreamWaitEvent(other, forked, 0) == cudaSuccess);
  relu<<<grid, 256, 0, other>>>(ps, py, n);
  TORCH_CHECK(cudaEventRecord(joined, other) == cudaSuccess);
  TORCH_CHECK(cudaStreamWaitEvent(stream, joined, 0) == cudaSuccess);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaStreamEndCapture(stream, &graph);
  if (graph) {
    cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphLaunch(executable, stream);
  }
  cudaStreamSynchronize(stream);
  cudaGetLastError();
  return y;
}
"""
module = load_inline(name="add_relu", cpp_sources="torch::Tensor add_relu(torch::Tensor a, torch::Tensor b);", cuda_sources=source,
                     functions=["add_relu"])


class ModelNew(nn.Module):
    def forward(self, a, b):
        return module.add_relu(a, b)
