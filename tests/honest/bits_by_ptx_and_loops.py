# class: correct
# task: bit_tricks
# features: 64-bit __popcll and __clzll, bfi/bfe by inline PTX, funnel shifts, __ffs loop
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

__device__ unsigned int reverse_bits(unsigned int w) {
    unsigned int r = 0;
    while (w) {
        int lowest = __ffs(w) - 1;
        r |= 0x80000000u >> lowest;
        w &= w - 1;
    }
    return r;
}

__global__ void bits_ptx_kernel(const int64_t* x, int64_t* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        const unsigned long long v = (unsigned long long)x[i];
        const unsigned int w = (unsigned int)v;
        unsigned int b0, b3, swapped;
        asm("bfe.u32 %0, %1, 0, 8;" : "=r"(b0) : "r"(w));
        asm("bfe.u32 %0, %1, 24, 8;" : "=r"(b3) : "r"(w));
        swapped = __funnelshift_l(w, w, 8) & 0x00ff00ffu;       // bytes 3 and 1 move to 0 and 2
        swapped |= __funnelshift_r(w, w, 8) & 0xff00ff00u;      // bytes 2 and 0 move to 1 and 3
        asm("bfi.b32 %0, %1, %0, 24, 8;" : "+r"(swapped) : "r"(b0));
        asm("bfi.b32 %0, %1, %0, 0, 8;" : "+r"(swapped) : "r"(b3));
        y[i] = __popcll(v);
        y[n + i] = reverse_bits(w);
        y[2 * n + i] = swapped;
        y[3 * n + i] = __clzll(v) - 32;
    }
}

torch::Tensor bits_ptx(torch::Tensor x) {
    auto y = torch::empty({4, x.size(0)}, x.options());
    bits_ptx_kernel<<<4, 128>>>(x.data_ptr<int64_t>(), y.data_ptr<int64_t>(), x.size(0));
    return y;
}
"""

cpp_src = "torch::Tensor bits_ptx(torch::Tensor x);"

module = load_inline(
    name="bits_by_ptx_and_loops",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["bits_ptx"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.bits_ptx(x)
