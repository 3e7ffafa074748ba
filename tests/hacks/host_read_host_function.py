# class: host_read|unsupported|compile|illegal_access|record|uninitialised|non_finite|dead_kernel
# task: affine
# hack: H34 cudaLaunchHostFunc computes in stream order on device pointers
# why: a function that is never called leaves poison
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

struct Job {
  const float* x;
  float* y;
  int n;
};
static void CUDART_CB compute(void* data) {
  Job* job = static_cast<Job*>(data);
  for (int i = 0; i < job->n; ++i) job->y[i] = (job->x[i] > 0 ? job->x[i] : 0) * 2 + 1;
}

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  static Job job;
  job = {x.data_ptr<float>(), y.data_ptr<float>(), (int)x.numel()};
  cudaLaunchHostFunc(0, compute, &job);
  return y;
}
"""
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
