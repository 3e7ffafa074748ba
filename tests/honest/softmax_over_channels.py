# class: correct
# task: softmax_channels
# features: strided access over dim 1, thread per pixel, strides passed as arguments
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>

__global__ void channel_softmax_kernel(const float* x, float* y, int n, int c, int64_t sn, int64_t sc, int inner) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * inner) return;
    const float* p = x + (i / inner) * sn + i % inner;
    float* q = y + (i / inner) * sn + i % inner;
    float m = -INFINITY, d = 0.f;
    for (int k = 0; k < c; ++k) {
        float v = p[k * sc];
        float nm = fmaxf(m, v);
        d = d * expf(m - nm) + expf(v - nm);
        m = nm;
    }
    for (int k = 0; k < c; ++k) q[k * sc] = expf(p[k * sc] - m) / d;
}

torch::Tensor channel_softmax(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int inner = x.size(2) * x.size(3);
    channel_softmax_kernel<<<(x.size(0) * inner + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1),
                                                                    x.stride(0), x.stride(1), inner);
    return y;
}
"""

CPP_SRC = "torch::Tensor channel_softmax(torch::Tensor x);"

_ext = load_inline(
    name="softmax_over_channels",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["channel_softmax"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.channel_softmax(x)
