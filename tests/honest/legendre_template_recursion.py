# class: correct
# task: legendre
# features: template recursion, static members, output written by columns of a stacked tensor
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

template <int K>
struct Legendre {
    static __device__ float value(float x) {
        return ((2 * K - 1) * x * Legendre<K - 1>::value(x) - (K - 1) * Legendre<K - 2>::value(x)) / K;
    }
};
template <>
struct Legendre<1> {
    static __device__ float value(float x) { return x; }
};
template <>
struct Legendre<0> {
    static __device__ float value(float) { return 1.0f; }
};

template <int K>
__global__ void legendre_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[K * n + i] = Legendre<K>::value(x[i]);
}

template <int K>
void launch_up_to(const float* x, float* y, int n) {
    legendre_kernel<K><<<(n + 255) / 256, 256>>>(x, y, n);
    if constexpr (K > 0) launch_up_to<K - 1>(x, y, n);
}

torch::Tensor legendre(torch::Tensor x) {
    auto y = torch::empty({5, x.size(0)}, x.options());
    launch_up_to<4>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0));
    return y;
}
"""

cpp_src = "torch::Tensor legendre(torch::Tensor x);"

ops = load_inline(
    name="legendre_template_recursion",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["legendre"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.legendre(x)
