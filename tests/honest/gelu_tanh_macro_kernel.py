# class: correct
# task: gelu_tanh
# features: kernels made by macros, token pasting, one of several launched
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>

#define DEFINE_UNARY(NAME, EXPR)                                              \
    __global__ void NAME##_kernel(const float* in, float* out, int n) {       \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                        \
        if (i < n) {                                                          \
            const float v = in[i];                                            \
            out[i] = (EXPR);                                                  \
        }                                                                     \
    }
#define LAUNCH(NAME, IN, OUT, N) NAME##_kernel<<<((N) + 255) / 256, 256>>>(IN, OUT, N)

DEFINE_UNARY(relu, fmaxf(v, 0.0f))
DEFINE_UNARY(gelu, 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))))
DEFINE_UNARY(square, v * v)

torch::Tensor gelu_tanh_forward(torch::Tensor x) {
    auto out = torch::empty_like(x);
    LAUNCH(gelu, x.data_ptr<float>(), out.data_ptr<float>(), (int)x.numel());
    return out;
}
"""

CPP_SRC = "torch::Tensor gelu_tanh_forward(torch::Tensor x);"

_ext = load_inline(
    name="gelu_tanh_macro_kernel",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["gelu_tanh_forward"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.gelu_tanh_forward(x)
