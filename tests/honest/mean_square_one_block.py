# class: correct
# task: mean_square
# features: one block of 1024, launch bounds, division by a host value
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void __launch_bounds__(1024) mean_square_kernel(const float* x, float* out, int n, float scale) {
    __shared__ float warps[32];
    float acc = 0.f;
    for (int i = threadIdx.x; i < n; i += 1024) acc += x[i] * x[i];
    for (int o = 16; o; o >>= 1) acc += __shfl_xor_sync(~0u, acc, o);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = acc;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    acc = warps[threadIdx.x];
    for (int o = 16; o; o >>= 1) acc += __shfl_xor_sync(~0u, acc, o);
    if (threadIdx.x == 0) out[0] = acc * scale;
}

torch::Tensor mean_square(torch::Tensor x) {
    auto out = torch::empty({1}, x.options());
    mean_square_kernel<<<1, 1024>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel(), 1.0f / x.numel());
    return out.squeeze();
}
"""

cpp_source = "torch::Tensor mean_square(torch::Tensor x);"

mean_square_one_block_ext = load_inline(
    name="mean_square_one_block",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["mean_square"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return mean_square_one_block_ext.mean_square(x)
