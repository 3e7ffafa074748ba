# class: correct
# task: sort_rows
# features: bitonic sort in shared memory, padded with infinities to a power of two
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void bitonic_kernel(const float* x, float* y, int cols, int padded) {
    extern __shared__ float s[];
    for (int i = threadIdx.x; i < padded; i += blockDim.x) s[i] = i < cols ? x[blockIdx.x * cols + i] : INFINITY;
    __syncthreads();
    for (int k = 2; k <= padded; k <<= 1) {
        for (int j = k >> 1; j > 0; j >>= 1) {
            for (int i = threadIdx.x; i < padded; i += blockDim.x) {
                const int other = i ^ j;
                if (other > i) {
                    const bool ascending = (i & k) == 0;
                    const float a = s[i], b = s[other];
                    if ((a > b) == ascending) {
                        s[i] = b;
                        s[other] = a;
                    }
                }
            }
            __syncthreads();
        }
    }
    for (int i = threadIdx.x; i < cols; i += blockDim.x) y[blockIdx.x * cols + i] = s[i];
}

torch::Tensor sort_rows(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int cols = x.size(1), padded = 1;
    while (padded < cols) padded *= 2;
    bitonic_kernel<<<x.size(0), 128, padded * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols, padded);
    return y;
}
"""

cpp_source = "torch::Tensor sort_rows(torch::Tensor x);"

sort_bitonic_ext = load_inline(
    name="sort_bitonic",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["sort_rows"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return sort_bitonic_ext.sort_rows(x)
