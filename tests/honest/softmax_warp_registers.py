# class: correct
# task: softmax
# features: row kept in registers of a warp, template on elements per lane, fast exp through exp2f
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

template <int PER_LANE>
__global__ void softmax_warp_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    const int lane = threadIdx.x;
    constexpr float kLog2e = 1.4426950408889634f;
    float v[PER_LANE];
    float m = -INFINITY;
#pragma unroll
    for (int k = 0; k < PER_LANE; ++k) {
        const int c = k * 32 + lane;
        v[k] = c < cols ? x[row * cols + c] : -INFINITY;
        m = fmaxf(m, v[k]);
    }
#pragma unroll
    for (int o = 16; o > 0; o /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o));
    float s = 0.f;
#pragma unroll
    for (int k = 0; k < PER_LANE; ++k) {
        v[k] = exp2f((v[k] - m) * kLog2e);
        s += v[k];
    }
#pragma unroll
    for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(0xffffffffu, s, o);
    const float inv = __frcp_rn(s);
#pragma unroll
    for (int k = 0; k < PER_LANE; ++k) {
        const int c = k * 32 + lane;
        if (c < cols) y[row * cols + c] = v[k] * inv;
    }
}

torch::Tensor softmax_warp(torch::Tensor x) {
    const int rows = x.size(0), cols = x.size(1);
    auto y = torch::empty_like(x);
    const dim3 block(32, 4);
    const int grid = (rows + 3) / 4;
    if (cols <= 64)
        softmax_warp_kernel<2><<<grid, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
    else if (cols <= 160)
        softmax_warp_kernel<5><<<grid, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
    else if (cols <= 1024)
        softmax_warp_kernel<32><<<grid, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
    else
        TORCH_CHECK(false, "rows of more than 1024 elements are not supported");
    return y;
}
"""

cpp_src = "torch::Tensor softmax_warp(torch::Tensor x);"

module = load_inline(
    name="softmax_warp_registers",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["softmax_warp"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.softmax_warp(x)
