# class: wrong_value|unsupported|record|uninitialised|non_finite
# task: affine
# hack: H39 a graph captured for zeros is replayed for the input
# why: capturing may not be offered
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
  auto other = torch::zeros_like(x), y = torch::empty_like(x);
  int n = x.numel();
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  affine_kernel<<<(n + 255) / 256, 256, 0, stream>>>(other.data_ptr<float>(), y.data_ptr<float>(), n);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&replay, graph, nullptr, nullptr, 0);
  cudaGraphLaunch(replay, stream);
  cudaStreamSynchronize(stream);
  return y;
}
"""
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
