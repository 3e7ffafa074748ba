# class: correct
# task: saxpy_half
# features: half operators by -U flags, conversions to float, uint4 of eight halves
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r'''
#include <torch/extension.h>
#include <cuda_fp16.h>

__global__ void saxpy_ops_kernel(const half* x, const half* y, half* out, float a, int n) {
    int base = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (base + 8 <= n) {
        uint4 vx = *reinterpret_cast<const uint4*>(x + base);
        uint4 vy = *reinterpret_cast<const uint4*>(y + base);
        half* hx = reinterpret_cast<half*>(&vx);
        const half* hy = reinterpret_cast<const half*>(&vy);
#pragma unroll
        for (int k = 0; k < 8; ++k) hx[k] = half(a * float(hx[k]) + float(hy[k]));
        *reinterpret_cast<uint4*>(out + base) = vx;
    } else {
        for (int i = base; i < n; ++i) out[i] = half(a * float(x[i]) + float(y[i]));
    }
}

torch::Tensor saxpy_ops(torch::Tensor x, torch::Tensor y) {
    auto out = torch::empty_like(x);
    int n = x.numel();
    int groups = (n + 7) / 8;
    saxpy_ops_kernel<<<(groups + 63) / 64, 64>>>((half*)x.data_ptr(), (half*)y.data_ptr(), (half*)out.data_ptr(), 1.5f, n);
    return out;
}
'''

cpp_source = "torch::Tensor saxpy_ops(torch::Tensor x, torch::Tensor y);"

saxpy_half_operators_ext = load_inline(
    name="saxpy_half_operators",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["saxpy_ops"],
    extra_cuda_cflags=["-O3", "-U__CUDA_NO_HALF_OPERATORS__", "-U__CUDA_NO_HALF_CONVERSIONS__", "-U__CUDA_NO_HALF2_OPERATORS__"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return saxpy_half_operators_ext.saxpy_ops(x, y)
