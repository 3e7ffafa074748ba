# class: correct
# task: sort_int
# features: LSD radix sort of one block, 1 bit a pass, ballots and prefix counts
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void __launch_bounds__(1024) radix_kernel(const int* x, int* y, int n) {
    __shared__ unsigned int keys[2][1024];
    __shared__ unsigned int warp_zeros[32];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    keys[0][t] = t < n ? (unsigned int)x[t] ^ 0x80000000u : 0xffffffffu;
    __syncthreads();
    int from = 0;
    for (int bit = 0; bit < 32; ++bit) {
        const unsigned int key = keys[from][t];
        const bool zero = ((key >> bit) & 1u) == 0;
        const unsigned int zeros = __ballot_sync(0xffffffffu, zero);
        if (lane == 0) warp_zeros[warp] = __popc(zeros);
        __syncthreads();
        unsigned int before = 0, total = 0;
        for (int w = 0; w < 32; ++w) {
            if (w < warp) before += warp_zeros[w];
            total += warp_zeros[w];
        }
        before += __popc(zeros & ((1u << lane) - 1u));
        const unsigned int place = zero ? before : total + (t - before);
        keys[from ^ 1][place] = key;
        from ^= 1;
        __syncthreads();
    }
    if (t < n) y[t] = (int)(keys[from][t] ^ 0x80000000u);
}

torch::Tensor radix_sort(torch::Tensor x) {
    TORCH_CHECK(x.numel() <= 1024);
    auto y = torch::empty_like(x);
    radix_kernel<<<1, 1024>>>(x.data_ptr<int>(), y.data_ptr<int>(), x.numel());
    return y;
}
"""

cpp_source = """
torch::Tensor radix_sort(torch::Tensor x);
"""

sort_radix_block_ext = load_inline(
    name="sort_radix_block",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["radix_sort"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return sort_radix_block_ext.radix_sort(x)
