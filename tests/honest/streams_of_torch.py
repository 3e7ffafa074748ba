# class: correct
# task: add_relu
# features: torch's current stream in Python and C++: stream contexts, guards, events between them
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
  const auto caller = at::cuda::getCurrentCUDAStream();
  add<<<grid, 256, 0, caller>>>(pa, pb, ps, n);
  const auto side = at::cuda::getStreamFromPool();
  TORCH_CHECK(side != caller);
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaEventRecord(done, caller);
  {
    c10::cuda::CUDAStreamGuard guard(side);
    TORCH_CHECK(at::cuda::getCurrentCUDAStream() == side);
    cudaStreamWaitEvent(side.stream(), done, 0);
    relu<<<grid, 256, 0, at::cuda::getCurrentCUDAStream()>>>(ps, py, n);
    cudaEventRecord(done, side);
  }
  cudaStreamWaitEvent(caller, done, 0);
  cudaEventDestroy(done);
  return y;
}
"""
module = load_inline(name="add_relu", cpp_sources="torch::Tensor add_relu(torch::Tensor a, torch::Tensor b);", cuda_sources=source,
                     functions=["add_relu"])


class ModelNew(nn.Module):
    def forward(self, a, b):
        current, side = torch.cuda.current_stream(), torch.cuda.Stream()
        side.wait_stream(current)
        with torch.cuda.stream(side):
            assert torch.cuda.current_stream() == side and side != current
            y = module.add_relu(a, b)
        current.wait_stream(side)
        assert torch.cuda.current_stream() == current
        return y
