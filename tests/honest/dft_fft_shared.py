# class: correct
# task: dft
# features: radix-2 FFT in shared memory, bit reversal by __brev, sincospif
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__global__ void fft_kernel(const float* x, float* y) {
    __shared__ float re[64], im[64];
    const int t = threadIdx.x;  // 32 threads
    for (int i = t; i < 64; i += 32) {
        const int from = __brev(i) >> 26;
        re[i] = x[blockIdx.x * 64 + from];
        im[i] = 0.f;
    }
    __syncwarp();
    for (int half = 1; half < 64; half *= 2) {
        const int k = t % half, a = (t / half) * 2 * half + k, b = a + half;
        float s, c;
        sincospif(-(float)k / half, &s, &c);
        const float br = re[b] * c - im[b] * s, bi = re[b] * s + im[b] * c;
        const float ar = re[a], ai = im[a];
        re[a] = ar + br;
        im[a] = ai + bi;
        re[b] = ar - br;
        im[b] = ai - bi;
        __syncwarp();
    }
    for (int i = t; i < 64; i += 32) {
        y[(blockIdx.x * 64 + i) * 2] = re[i];
        y[(blockIdx.x * 64 + i) * 2 + 1] = im[i];
    }
}

torch::Tensor fft(torch::Tensor x) {
    auto y = torch::empty({x.size(0), 64, 2}, x.options());
    fft_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}
"""

CPP_SRC = """
torch::Tensor fft(torch::Tensor x);
"""

_ext = load_inline(
    name="dft_fft_shared",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["fft"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.fft(x)
