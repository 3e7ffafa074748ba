# class: correct
# task: instance_norm
# features: two warps a plane meet at named barriers (bar.sync id, count) by inline PTX
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__device__ __forceinline__ void pair_barrier(int id) {
    asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory");
}

// Four planes a block, 64 threads each; each group of two warps has a barrier of its own.
__global__ void instance_norm_kernel(const float* x, float* y, int planes, int plane) {
    __shared__ float parts[4][2];
    const int group = threadIdx.x / 64, t = threadIdx.x % 64;
    const int p = blockIdx.x * 4 + group;
    if (p >= planes) return;
    const float* in = x + p * plane;
    float acc = 0.f;
    for (int i = t; i < plane; i += 64) acc += in[i];
    for (int o = 16; o; o >>= 1) acc += __shfl_xor_sync(0xffffffffu, acc, o);
    if (t % 32 == 0) parts[group][t / 32] = acc;
    pair_barrier(group + 1);
    const float mean = (parts[group][0] + parts[group][1]) / plane;
    pair_barrier(group + 1);
    acc = 0.f;
    for (int i = t; i < plane; i += 64) acc += (in[i] - mean) * (in[i] - mean);
    for (int o = 16; o; o >>= 1) acc += __shfl_xor_sync(0xffffffffu, acc, o);
    if (t % 32 == 0) parts[group][t / 32] = acc;
    pair_barrier(group + 1);
    const float rstd = rsqrtf((parts[group][0] + parts[group][1]) / plane + 1e-5f);
    for (int i = t; i < plane; i += 64) y[p * plane + i] = (in[i] - mean) * rstd;
}

torch::Tensor instance_norm(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int planes = x.size(0) * x.size(1);
    instance_norm_kernel<<<(planes + 3) / 4, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), planes, x.size(2) * x.size(3));
    return y;
}
"""

CPP_SRC = """
torch::Tensor instance_norm(torch::Tensor x);
"""

_ext = load_inline(
    name="instance_norm_named_barrier",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["instance_norm"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.instance_norm(x)
