# class: correct
# task: mish
# features: functor as template argument of a kernel, kernel launched from a host template
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

struct Mish {
    __device__ float operator()(float v) const {
        const float e = expf(v);
        const float n = e * (e + 2.0f);
        return v > 20.0f ? v : v * n / (n + 2.0f);
    }
};

template <typename Op>
__global__ void unary_kernel(const float* __restrict__ in, float* __restrict__ out, int n, Op op) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = op(in[i]);
}

template <typename Op>
void launch_unary(const torch::Tensor& in, torch::Tensor& out, Op op) {
    const int n = in.numel();
    unary_kernel<<<8, 128>>>(in.data_ptr<float>(), out.data_ptr<float>(), n, op);
}

torch::Tensor mish_fwd(torch::Tensor x) {
    auto out = torch::empty_like(x);
    launch_unary(x, out, Mish());
    return out;
}
"""

cpp_source = "torch::Tensor mish_fwd(torch::Tensor x);"

mish_functor_ext = load_inline(
    name="mish_functor",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["mish_fwd"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return mish_functor_ext.mish_fwd(x)
