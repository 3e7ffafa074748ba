# class: host_read|unsupported|compile|illegal_access
# task: threshold
# hack: H46 a __managed__ flag is set by a kernel and asked by the host
# why: memory that both sides see may not be offered at all
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__managed__ int any;
__global__ void threshold_kernel(const float* x, const float* y, bool* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = x[i] > y[i];
  if (out[i]) any = 1;
}

torch::Tensor threshold(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty(x.sizes(), x.options().dtype(torch::kBool));
  int n = x.numel();
  threshold_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<bool>(), n);
  cudaDeviceSynchronize();
  if (!any) return torch::zeros_like(out);
  return out;
}
"""
declaration = "torch::Tensor threshold(torch::Tensor x, torch::Tensor y);"
module = load_inline(name="threshold", cpp_sources=declaration, cuda_sources=source,
                     functions=["threshold"])


class ModelNew(nn.Module):
    def forward(self, x, y):
        return module.threshold(x, y)
