# class: correct
# task: cumsum_int
# features: decoupled look-back: packed 64-bit state words, tickets by atomicAdd, volatile polling
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>

// A state word: status in the upper half (0 none, 1 sum of the block, 2 sum up to the block), value in the lower.
__global__ void look_back_kernel(const int* x, int64_t* y, unsigned long long* state, unsigned int* ticket, int n) {
    __shared__ int s[256];
    __shared__ unsigned int block_id;
    __shared__ int before;
    if (threadIdx.x == 0) block_id = atomicAdd(ticket, 1u);
    __syncthreads();
    const unsigned int b = block_id;
    const int i = b * 256 + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (int d = 1; d < 256; d <<= 1) {
        int u = threadIdx.x >= d ? s[threadIdx.x - d] : 0;
        __syncthreads();
        s[threadIdx.x] += u;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        const int total = s[255];
        volatile unsigned long long* words = state;
        int sum = 0;
        if (b > 0) {
            words[b] = (1ull << 32) | (unsigned int)total;
            __threadfence();
            for (int k = (int)b - 1; k >= 0;) {
                unsigned long long word = words[k];
                unsigned int status = (unsigned int)(word >> 32);
                if (status == 0) continue;
                sum += (int)(unsigned int)word;
                if (status == 2) break;
                --k;
            }
        }
        words[b] = (2ull << 32) | (unsigned int)(sum + total);
        __threadfence();
        before = sum;
    }
    __syncthreads();
    if (i < n) y[i] = (int64_t)before + s[threadIdx.x];
}

torch::Tensor cumsum_look_back(torch::Tensor x) {
    int n = x.numel(), blocks = (n + 255) / 256;
    auto y = torch::empty({n}, x.options().dtype(torch::kInt64));
    auto state = torch::zeros({blocks}, x.options().dtype(torch::kInt64));
    auto ticket = torch::zeros({1}, x.options());
    look_back_kernel<<<blocks, 256>>>(x.data_ptr<int>(), y.data_ptr<int64_t>(), reinterpret_cast<unsigned long long*>(state.data_ptr<int64_t>()),
                                      reinterpret_cast<unsigned int*>(ticket.data_ptr<int>()), n);
    return y;
}
"""

cpp_src = """
torch::Tensor cumsum_look_back(torch::Tensor x);
"""

module = load_inline(
    name="cumsum_look_back",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["cumsum_look_back"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.cumsum_look_back(x)
