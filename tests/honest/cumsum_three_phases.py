# class: correct
# task: cumsum_flat
# features: block scans by warp shuffles, scan of block sums, addition of offsets: three kernels
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

#define BLOCK 256

__global__ void scan_blocks(const float* x, float* y, float* sums, int n) {
    __shared__ float warps[BLOCK / 32];
    int i = blockIdx.x * BLOCK + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float v = i < n ? x[i] : 0.f;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        float u = __shfl_up_sync(0xffffffffu, v, d);
        if (lane >= d) v += u;
    }
    if (lane == 31) warps[warp] = v;
    __syncthreads();
    if (warp == 0) {
        float w = lane < BLOCK / 32 ? warps[lane] : 0.f;
        for (int d = 1; d < BLOCK / 32; d *= 2) {
            float u = __shfl_up_sync(0xffffffffu, w, d);
            if (lane >= d) w += u;
        }
        if (lane < BLOCK / 32) warps[lane] = w;
    }
    __syncthreads();
    if (warp > 0) v += warps[warp - 1];
    if (i < n) y[i] = v;
    if (threadIdx.x == BLOCK - 1) sums[blockIdx.x] = v;
}

__global__ void scan_sums(float* sums, int blocks) {
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        float total = 0.f;
        for (int b = 0; b < blocks; ++b) {
            float s = sums[b];
            sums[b] = total;
            total += s;
        }
    }
}

__global__ void add_offsets(float* y, const float* sums, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) y[i] += sums[blockIdx.x];
}

torch::Tensor cumsum(torch::Tensor x) {
    int n = x.numel(), blocks = (n + BLOCK - 1) / BLOCK;
    auto y = torch::empty_like(x);
    auto sums = torch::empty({blocks}, x.options());
    scan_blocks<<<blocks, BLOCK>>>(x.data_ptr<float>(), y.data_ptr<float>(), sums.data_ptr<float>(), n);
    scan_sums<<<1, 32>>>(sums.data_ptr<float>(), blocks);
    add_offsets<<<blocks, BLOCK>>>(y.data_ptr<float>(), sums.data_ptr<float>(), n);
    return y;
}
"""

cpp_source = """
torch::Tensor cumsum(torch::Tensor x);
"""

cumsum_three_phases_ext = load_inline(
    name="cumsum_three_phases",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["cumsum"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return cumsum_three_phases_ext.cumsum(x)
