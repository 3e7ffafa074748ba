# class: correct
# task: saxpy_half
# features: half2 loads and stores, __half22float2, one rounding
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>
#include <cuda_fp16.h>

__global__ void saxpy_half2_kernel(const half2* __restrict__ x, const half2* __restrict__ y, half2* __restrict__ out, float a, int pairs) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs) {
        float2 u = __half22float2(x[i]);
        float2 v = __half22float2(y[i]);
        out[i] = __floats2half2_rn(a * u.x + v.x, a * u.y + v.y);
    }
}

torch::Tensor saxpy(torch::Tensor x, torch::Tensor y) {
    TORCH_CHECK(x.scalar_type() == torch::kHalf, "half expected");
    TORCH_CHECK(x.numel() % 2 == 0, "an even number of elements expected");
    auto out = torch::empty_like(x);
    int pairs = x.numel() / 2;
    saxpy_half2_kernel<<<(pairs + 255) / 256, 256>>>(
        reinterpret_cast<const half2*>(x.data_ptr<at::Half>()), reinterpret_cast<const half2*>(y.data_ptr<at::Half>()),
        reinterpret_cast<half2*>(out.data_ptr<at::Half>()), 1.5f, pairs);
    return out;
}
"""

cpp_src = "torch::Tensor saxpy(torch::Tensor x, torch::Tensor y);"

module = load_inline(
    name="saxpy_half2",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["saxpy"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return module.saxpy(x, y)
