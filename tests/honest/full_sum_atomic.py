# class: correct
# task: full_sum
# features: atomicAdd per block on a tensor of zeros
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r'''
#include <torch/extension.h>

__global__ void sum_atomic_kernel(const float* __restrict__ x, float* __restrict__ out, int n) {
    float acc = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) acc += __ldg(x + i);
    for (int offset = 16; offset > 0; offset >>= 1) acc += __shfl_down_sync(0xffffffffu, acc, offset);
    if ((threadIdx.x & 31) == 0) atomicAdd(out, acc);
}

torch::Tensor full_sum_atomic(torch::Tensor x) {
    auto out = torch::zeros({}, x.options());
    sum_atomic_kernel<<<24, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel());
    return out;
}
'''

cpp_source = '''
torch::Tensor full_sum_atomic(torch::Tensor x);
'''

full_sum_atomic_ext = load_inline(
    name="full_sum_atomic",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["full_sum_atomic"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return full_sum_atomic_ext.full_sum_atomic(x)
