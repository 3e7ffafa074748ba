# class: correct
# task: bf16_norm
# features: __nv_bfloat162 vectors, fp32 accumulation, one rounding, warp per row
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_bf16.h>

__global__ void bf16_norm_kernel(const __nv_bfloat162* x, __nv_bfloat162* y, int rows, int pairs) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float acc = 0.f;
    for (int c = threadIdx.x; c < pairs; c += 32) {
        float2 v = __bfloat1622float2(x[row * pairs + c]);
        acc += v.x * v.x + v.y * v.y;
    }
    for (int o = 16; o; o >>= 1) acc += __shfl_xor_sync(0xffffffffu, acc, o);
    float scale = rsqrtf(acc / (2 * pairs) + 1e-5f);
    for (int c = threadIdx.x; c < pairs; c += 32) {
        float2 v = __bfloat1622float2(x[row * pairs + c]);
        y[row * pairs + c] = __floats2bfloat162_rn(v.x * scale, v.y * scale);
    }
}

torch::Tensor bf16_norm(torch::Tensor x) {
    auto y = torch::empty_like(x);
    bf16_norm_kernel<<<(x.size(0) + 3) / 4, dim3(32, 4)>>>(reinterpret_cast<const __nv_bfloat162*>(x.data_ptr<at::BFloat16>()),
                                                          reinterpret_cast<__nv_bfloat162*>(y.data_ptr<at::BFloat16>()), x.size(0), x.size(1) / 2);
    return y;
}
"""

cpp_source = "torch::Tensor bf16_norm(torch::Tensor x);"

bf16_norm_vectors_ext = load_inline(
    name="bf16_norm_vectors",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["bf16_norm"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return bf16_norm_vectors_ext.bf16_norm(x)
