# class: correct
# task: relu
# features: torch.cuda.Event: record, wait, wait_event, record_event, synchronize, query; record_stream
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

torch::Tensor lower_of(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int n = x.numel();
  lower<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}

torch::Tensor negated(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int n = x.numel();
  negate<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
cpp = "torch::Tensor lower_of(torch::Tensor x); torch::Tensor negated(torch::Tensor x);"
module = load_inline(name="relu", cpp_sources=cpp, cuda_sources=source, functions=["lower_of", "negated"])


class ModelNew(nn.Module):
    def forward(self, x):
        main, side, other = torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()
        begun, done = torch.cuda.Event(), torch.cuda.Event()
        begun.record()
        side.wait_event(begun)
        with torch.cuda.stream(side):
            w = module.lower_of(x)
            done.record()
        done.wait(other)
        w.record_stream(other)
        with torch.cuda.stream(other):
            y = module.negated(w)
        del w
        main.wait_event(other.record_event())
        y.record_stream(main)
        w = module.lower_of(y)
        finished = main.record_event()
        while not finished.query():
            pass
        assert main.query()
        with torch.cuda.stream(side):
            z = module.negated(w)
        side.synchronize()
        main.wait_stream(side)
        with torch.cuda.stream(torch.cuda.default_stream()):
            return module.negated(module.lower_of(x))
