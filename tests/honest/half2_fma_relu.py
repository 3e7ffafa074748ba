# class: correct
# task: half_fma_relu
# features: __hfma2_relu, half2 from 128-bit loads
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>
#include <cuda_fp16.h>

union Eight {
    uint4 raw;
    __half2 h[4];
    __device__ Eight() {}
};

__global__ void half_fma_relu_kernel(const uint4* x, const uint4* y, const uint4* z, uint4* out, int groups) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < groups) {
        Eight a, b, c;
        a.raw = x[i];
        b.raw = y[i];
        c.raw = z[i];
#pragma unroll
        for (int k = 0; k < 4; ++k) c.h[k] = __hfma2_relu(a.h[k], b.h[k], c.h[k]);
        out[i] = c.raw;
    }
}

torch::Tensor half_fma_relu(torch::Tensor x, torch::Tensor y, torch::Tensor z) {
    TORCH_CHECK(x.numel() % 8 == 0);
    auto out = torch::empty_like(x);
    int groups = x.numel() / 8;
    half_fma_relu_kernel<<<(groups + 63) / 64, 64>>>((const uint4*)x.data_ptr(), (const uint4*)y.data_ptr(), (const uint4*)z.data_ptr(), (uint4*)out.data_ptr(), groups);
    return out;
}
"""

CPP_SRC = "torch::Tensor half_fma_relu(torch::Tensor x, torch::Tensor y, torch::Tensor z);"

_ext = load_inline(
    name="half2_fma_relu",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["half_fma_relu"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y, z):
        return _ext.half_fma_relu(x, y, z)
