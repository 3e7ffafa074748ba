# class: correct
# task: sort_pairs
# features: bitonic sort across lanes by shuffles, 64-bit keys of value and index, two keys a lane
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = '''
#include <torch/extension.h>

__device__ unsigned long long make_key(float v, int i) {
    unsigned int u = __float_as_uint(v + 0.0f);
    u ^= (unsigned int)((int)u >> 31) | 0x80000000u;
    return ((unsigned long long)u << 32) | (unsigned int)i;
}

__global__ void sort_lanes_kernel(const float* x, float* values, int64_t* indices, int rows) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    if (row >= rows) return;
    unsigned long long key[2];
    for (int h = 0; h < 2; ++h) key[h] = make_key(x[row * 64 + h * 32 + lane], h * 32 + lane);
    for (int k = 2; k <= 64; k <<= 1) {
        for (int j = k >> 1; j > 0; j >>= 1) {
            if (j == 32) {
                const unsigned long long lo = min(key[0], key[1]), hi = max(key[0], key[1]);
                key[0] = lo;
                key[1] = hi;
            } else {
                for (int h = 0; h < 2; ++h) {
                    const int i = h * 32 + lane;
                    const unsigned long long other = __shfl_xor_sync(0xffffffffu, key[h], j);
                    const bool keep_min = ((i & k) == 0) == ((i & j) == 0);
                    key[h] = keep_min ? min(key[h], other) : max(key[h], other);
                }
            }
        }
    }
    for (int h = 0; h < 2; ++h) {
        const int i = h * 32 + lane, source = (int)(key[h] & 0xffffffffull);
        values[row * 64 + i] = x[row * 64 + source];
        indices[row * 64 + i] = source;
    }
}

std::vector<torch::Tensor> sort_lanes(torch::Tensor x) {
    auto values = torch::empty_like(x), indices = torch::empty(x.sizes(), x.options().dtype(torch::kInt64));
    sort_lanes_kernel<<<(x.size(0) + 3) / 4, dim3(32, 4)>>>(x.data_ptr<float>(), values.data_ptr<float>(), indices.data_ptr<int64_t>(), x.size(0));
    return {values, indices};
}
'''

cpp_source = "std::vector<torch::Tensor> sort_lanes(torch::Tensor x);"

sort_shuffle_pairs_ext = load_inline(
    name="sort_shuffle_pairs",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["sort_lanes"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return sort_shuffle_pairs_ext.sort_lanes(x)
