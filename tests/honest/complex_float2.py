# class: correct
# task: complex_mul
# features: float2 as complex numbers, operator overloading in device code, namespace
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

namespace cplx {
struct __align__(8) Complex {
    float re, im;
};
__device__ __forceinline__ Complex operator*(const Complex& a, const Complex& b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
__global__ void multiply(const Complex* a, const Complex* b, Complex* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] * b[i];
}
}  // namespace cplx

torch::Tensor complex_mul(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty_like(a);
    int n = a.size(0);
    using cplx::Complex;
    cplx::multiply<<<(n + 255) / 256, 256>>>(reinterpret_cast<const Complex*>(a.data_ptr<float>()),
                                             reinterpret_cast<const Complex*>(b.data_ptr<float>()),
                                             reinterpret_cast<Complex*>(c.data_ptr<float>()), n);
    return c;
}
"""

CPP_SRC = "torch::Tensor complex_mul(torch::Tensor a, torch::Tensor b);"

_ext = load_inline(
    name="complex_float2",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["complex_mul"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return _ext.complex_mul(a, b)
