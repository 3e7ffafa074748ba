# class: correct
# task: cumsum_rows
# features: Hillis-Steele with double buffering in shared memory, row longer than a block by carrying
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void cumsum_rows_kernel(const float* x, float* y, int cols) {
    __shared__ float buffer[2][256];
    __shared__ float carry;
    const int t = threadIdx.x;
    if (t == 0) carry = 0.f;
    __syncthreads();
    for (int base = 0; base < cols; base += 256) {
        const int c = base + t;
        int in = 0;
        buffer[in][t] = c < cols ? x[blockIdx.x * cols + c] : 0.f;
        __syncthreads();
        for (int d = 1; d < 256; d <<= 1) {
            buffer[in ^ 1][t] = t >= d ? buffer[in][t] + buffer[in][t - d] : buffer[in][t];
            in ^= 1;
            __syncthreads();
        }
        if (c < cols) y[blockIdx.x * cols + c] = buffer[in][t] + carry;
        __syncthreads();
        if (t == 255) carry += buffer[in][255];
        __syncthreads();
    }
}

torch::Tensor cumsum_rows(torch::Tensor x) {
    auto y = torch::empty_like(x);
    cumsum_rows_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

cpp_source = """
torch::Tensor cumsum_rows(torch::Tensor x);
"""

cumsum_hillis_steele_ext = load_inline(
    name="cumsum_hillis_steele",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["cumsum_rows"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return cumsum_hillis_steele_ext.cumsum_rows(x)
