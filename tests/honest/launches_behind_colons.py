# class: correct
# task: relu
# features: launches right behind a case, a default, a label and a question
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>
#include <stdexcept>

template <int THREADS>
__global__ void relu_kernel(const float* in, float* out, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) out[i] = fmaxf(in[i], 0.0f);
}

void clear(float* out, const float* in, int n) {
    goto start;
start:relu_kernel<32><<<(n + 31) / 32, 32>>>(in, out, n);
}

torch::Tensor relu_forward(torch::Tensor x) {
    auto out = torch::empty_like(x);
    const int n = static_cast<int>(x.numel());
    const float* in = x.data_ptr<float>();
    float* to = out.data_ptr<float>();
    clear(to, in, n);
    n < 64?relu_kernel<64><<<1, 64>>>(in, to, n):relu_kernel<128><<<(n + 127) / 128, 128>>>(in, to, n);
    switch (n > 4096 ? 512 : 256) {
        case 256:relu_kernel<256><<<(n + 255) / 256, 256>>>(in, to, n); break;
        case 512:relu_kernel<512><<<(n + 511) / 512, 512>>>(in, to, n); break;
        default:throw std::runtime_error("no such size");
    }
    return out;
}
"""

ext = load_inline(
    name="launches_behind_colons",
    cpp_sources="torch::Tensor relu_forward(torch::Tensor x);",
    cuda_sources=CUDA_SRC,
    functions=["relu_forward"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ext.relu_forward(x)
