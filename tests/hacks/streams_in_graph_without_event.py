# class: race
# task: relu
# hack: H22 a graph of two streams in which the consumer does not wait for the producer
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
  auto y = torch::empty_like(x), w = torch::empty_like(x);
  const int n = x.numel(), blocks = (n + 255) / 256;
  const float* px = x.data_ptr<float>();
  float *pw = w.data_ptr<float>(), *py = y.data_ptr<float>();
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaEvent_t joined;
  cudaEventCreateWithFlags(&joined, cudaEventDisableTiming);
  cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
  cudaEventRecord(done, a);
  cudaStreamWaitEvent(b, done, 0);
  lower<<<blocks, 256, 0, a>>>(px, pw, n);
  negate<<<blocks, 256, 0, b>>>(pw, py, n);
  cudaEventRecord(joined, b);
  cudaStreamWaitEvent(a, joined, 0);
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamEndCapture(a, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphLaunch(executable, a);
  cudaDeviceSynchronize();
  return y;
}
"""
module = load_inline(name="relu", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=source,
                     functions=["relu"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.relu(x)
