# class: correct
# task: full_sum
# features: two kernels, partial sums in a temporary tensor
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

template <int BLOCK>
__global__ void reduce_kernel(const float* in, float* out, int n) {
    __shared__ float s[BLOCK];
    float acc = 0.0f;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) acc += in[i];
    s[threadIdx.x] = acc;
    __syncthreads();
#pragma unroll
    for (int step = BLOCK / 2; step >= 32; step /= 2) {
        if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x < 32) {
        float v = s[threadIdx.x];
        for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
        if (threadIdx.x == 0) out[blockIdx.x] = v;
    }
}

torch::Tensor full_sum(torch::Tensor x) {
    const int blocks = 40;
    auto partial = torch::empty({blocks}, x.options());
    auto result = torch::empty({}, x.options());
    reduce_kernel<256><<<blocks, 256>>>(x.data_ptr<float>(), partial.data_ptr<float>(), x.numel());
    reduce_kernel<64><<<1, 64>>>(partial.data_ptr<float>(), result.data_ptr<float>(), blocks);
    return result;
}
"""

cpp_src = "torch::Tensor full_sum(torch::Tensor x);"

ops = load_inline(
    name="full_sum_two_stage",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["full_sum"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.full_sum(x)
