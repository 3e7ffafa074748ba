# class: correct
# task: dft
# features: table of twiddles computed on the host and uploaded with cudaMemcpyToSymbol
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>
#include <cmath>

#define N 64
__constant__ float2 twiddle[N];

__global__ void dft_kernel(const float* x, float2* y) {
    __shared__ float row[N];
    row[threadIdx.x] = x[blockIdx.x * N + threadIdx.x];
    __syncthreads();
    float re = 0.f, im = 0.f;
    for (int t = 0; t < N; ++t) {
        const float2 w = twiddle[(t * threadIdx.x) % N];
        re += row[t] * w.x;
        im += row[t] * w.y;
    }
    y[blockIdx.x * N + threadIdx.x] = make_float2(re, im);
}

torch::Tensor dft(torch::Tensor x) {
    TORCH_CHECK(x.size(1) == N, "rows of ", N, " expected");
    static float2 host[N];
    for (int k = 0; k < N; ++k) {
        const double angle = -2.0 * M_PI * k / N;
        host[k] = make_float2((float)std::cos(angle), (float)std::sin(angle));
    }
    cudaMemcpyToSymbol(twiddle, host, sizeof(host));
    auto y = torch::empty({x.size(0), N, 2}, x.options());
    dft_kernel<<<x.size(0), N>>>(x.data_ptr<float>(), reinterpret_cast<float2*>(y.data_ptr<float>()));
    return y;
}
"""

CPP_SRC = """
torch::Tensor dft(torch::Tensor x);
"""

_ext = load_inline(
    name="dft_constant_table",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["dft"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.dft(x)
