import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r'''
#include <torch/extension.h>

__global__ void elementwise(const float* __restrict__ x, float* __restrict__ out, long n, float s) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        out[i] = @VALUE@;
    }
}

torch::Tensor run(torch::Tensor x, double s) {
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    auto out = torch::empty_like(x);
    long n = x.numel();
    long blocks = (n + 255) / 256;
    elementwise<<<blocks, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), n, s);
    return out;
}
'''
module = load_inline(name="elementwise", cpp_sources="torch::Tensor run(torch::Tensor x, double s);", cuda_sources=source,
                     functions=["run"])


class ModelNew(nn.Module):
    def __init__(self, *arguments):
        super().__init__()

    def forward(self, x, s=0.0):
        return module.run(x, s)
