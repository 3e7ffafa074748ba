# class: correct
# task: swiglu
# features: packed_accessor32, tile and macro given by -D flags
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

#ifndef TILE
#error "TILE must be given"
#endif
#ifdef USE_EXPF
#define SILU(v) ((v) / (1.0f + expf(-(v))))
#else
#define SILU(v) ((v) / (1.0 + exp(-(double)(v))))
#endif

__global__ void swiglu_acc_kernel(torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> x,
                                  torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> y) {
    const int r = blockIdx.y * TILE + threadIdx.y;
    const int c = blockIdx.x * TILE + threadIdx.x;
    const int half = y.size(1);
    if (r < y.size(0) && c < half) y[r][c] = SILU(x[r][c]) * x[r][half + c];
}

torch::Tensor swiglu_acc(torch::Tensor x) {
    auto y = torch::empty({x.size(0), x.size(1) / 2}, x.options());
    dim3 block(TILE, TILE);
    dim3 grid((y.size(1) + TILE - 1) / TILE, (y.size(0) + TILE - 1) / TILE);
    swiglu_acc_kernel<<<grid, block>>>(x.packed_accessor32<float, 2, torch::RestrictPtrTraits>(),
                                       y.packed_accessor32<float, 2, torch::RestrictPtrTraits>());
    return y;
}
"""

cpp_src = """
torch::Tensor swiglu_acc(torch::Tensor x);
"""

module = load_inline(
    name="swiglu_accessor",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["swiglu_acc"],
    extra_cuda_cflags=["-O2", "-DTILE=16", "-DUSE_EXPF"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.swiglu_acc(x)
