# class: correct
# task: half_fma_relu
# features: __hfma, __hgt, __hmax on single halves, __ushort_as_half constants
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cuda_fp16.h>

__global__ void half_relu_kernel(const __half* x, const __half* y, const __half* z, __half* out, int n) {
    const __half zero = __ushort_as_half((unsigned short)0x0000U);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const __half v = __hfma(x[i], y[i], z[i]);
        out[i] = (i % 2) ? __hmax(v, zero) : (__hgt(v, zero) ? v : zero);
    }
}

torch::Tensor half_relu(torch::Tensor x, torch::Tensor y, torch::Tensor z) {
    auto out = torch::empty_like(x);
    half_relu_kernel<<<5, 96>>>(reinterpret_cast<__half*>(x.data_ptr<at::Half>()), reinterpret_cast<__half*>(y.data_ptr<at::Half>()),
                                reinterpret_cast<__half*>(z.data_ptr<at::Half>()), reinterpret_cast<__half*>(out.data_ptr<at::Half>()), x.numel());
    return out;
}
"""

cpp_src = """
torch::Tensor half_relu(torch::Tensor x, torch::Tensor y, torch::Tensor z);
"""

ops = load_inline(
    name="half_compare_select",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["half_relu"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y, z):
        return ops.half_relu(x, y, z)
