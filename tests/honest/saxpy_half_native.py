# class: correct
# task: saxpy_half
# features: __hfma on half (one rounding), c10::Half pointers
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <cuda_fp16.h>

__global__ void saxpy_native_kernel(const __half* x, const __half* y, __half* out, int n) {
    const __half a = __float2half_rn(1.5f);
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) out[i] = __hfma(a, x[i], y[i]);
}

torch::Tensor saxpy_native(torch::Tensor x, torch::Tensor y) {
    auto out = torch::empty(x.sizes(), x.options());
    int n = x.numel();
    saxpy_native_kernel<<<(n + 127) / 128, 128>>>(
        (const __half*)x.data_ptr<c10::Half>(), (const __half*)y.data_ptr<c10::Half>(), (__half*)out.data_ptr<c10::Half>(), n);
    return out;
}
"""

cpp_source = "torch::Tensor saxpy_native(torch::Tensor x, torch::Tensor y);"

saxpy_half_native_ext = load_inline(
    name="saxpy_half_native",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["saxpy_native"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return saxpy_half_native_ext.saxpy_native(x, y)
