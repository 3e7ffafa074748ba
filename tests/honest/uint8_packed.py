# class: correct
# task: uint8_ops
# features: SIMD video instructions __vsubus4 and __vcmpgtu4 on packed bytes, byte tail
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>
#include <tuple>

__global__ void packed_kernel(const unsigned int* x, unsigned int* y, unsigned int* m, int words) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < words) {
        unsigned int v = x[i];
        y[i] = __vsub4(0xffffffffu, v);
        m[i] = __vcmpgtu4(v, 0x64646464u) & 0x01010101u;
    }
}
__global__ void tail_kernel(const unsigned char* x, unsigned char* y, unsigned char* m, int from, int n) {
    int i = from + threadIdx.x;
    if (i < n) {
        y[i] = ~x[i];
        m[i] = x[i] > 100 ? 1 : 0;
    }
}

std::tuple<torch::Tensor, torch::Tensor> packed(torch::Tensor x) {
    auto y = torch::empty_like(x);
    auto m = torch::empty_like(x, x.options().dtype(torch::kBool));
    int n = x.numel(), words = n / 4;
    packed_kernel<<<(words + 255) / 256, 256>>>((const unsigned int*)x.data_ptr(), (unsigned int*)y.data_ptr(), (unsigned int*)m.data_ptr(), words);
    if (n % 4) tail_kernel<<<1, 4>>>((const unsigned char*)x.data_ptr(), (unsigned char*)y.data_ptr(), (unsigned char*)m.data_ptr(), words * 4, n);
    return std::make_tuple(y, m);
}
"""

cpp_src = "std::tuple<torch::Tensor, torch::Tensor> packed(torch::Tensor x);"

module = load_inline(
    name="uint8_packed",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["packed"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.packed(x)
