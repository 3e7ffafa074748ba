# class: correct
# task: histogram
# features: shared histogram a block, atomics in shared then 64-bit atomics in global memory
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r'''
#include <torch/extension.h>

__global__ void histogram_kernel(const int64_t* x, unsigned long long* bins, int n) {
    __shared__ unsigned int local[64];
    if (threadIdx.x < 64) local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[x[i]], 1u);
    __syncthreads();
    if (threadIdx.x < 64 && local[threadIdx.x]) atomicAdd(&bins[threadIdx.x], (unsigned long long)local[threadIdx.x]);
}

torch::Tensor histogram(torch::Tensor x) {
    auto bins = torch::zeros({64}, x.options());
    histogram_kernel<<<6, 128>>>(x.data_ptr<int64_t>(), reinterpret_cast<unsigned long long*>(bins.data_ptr<int64_t>()), x.numel());
    return bins;
}
'''

CPP_SRC = "torch::Tensor histogram(torch::Tensor x);"

_ext = load_inline(
    name="histogram_shared",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["histogram"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.histogram(x)
