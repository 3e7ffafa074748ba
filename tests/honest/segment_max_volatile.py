# class: correct
# task: segment_max
# features: volatile shared memory with __syncwarp between steps, enum class option
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

enum class Reduction { kMax, kMin };

template <Reduction R>
__device__ float pick(float a, float b) {
    return R == Reduction::kMax ? fmaxf(a, b) : fminf(a, b);
}

template <Reduction R>
__global__ void segment_kernel(const float* x, float* y, int length) {
    __shared__ volatile float s[32];
    const int t = threadIdx.x;
    s[t] = t < length ? x[blockIdx.x * length + t] : (R == Reduction::kMax ? -INFINITY : INFINITY);
    __syncwarp();
    for (int o = 16; o > 0; o >>= 1) {
        float v = t < o ? pick<R>(s[t], s[t + o]) : 0.f;
        __syncwarp();
        if (t < o) s[t] = v;
        __syncwarp();
    }
    if (t == 0) y[blockIdx.x] = s[0];
}

torch::Tensor segment_max(torch::Tensor x) {
    auto y = torch::empty({x.numel() / 25}, x.options());
    segment_kernel<Reduction::kMax><<<y.numel(), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), 25);
    return y;
}
"""

CPP_SRC = """
torch::Tensor segment_max(torch::Tensor x);
"""

_ext = load_inline(
    name="segment_max_volatile",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["segment_max"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.segment_max(x)
