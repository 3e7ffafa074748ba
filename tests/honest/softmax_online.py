# class: correct
# task: softmax_long
# features: online softmax, (max, sum) merged over shuffles and shared memory
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = '''
#include <torch/extension.h>

struct __align__(8) MD {
    float m;
    float d;
};

__device__ __forceinline__ MD combine(MD a, MD b) {
    bool a_larger = a.m > b.m;
    MD big = a_larger ? a : b, small = a_larger ? b : a;
    if (small.d == 0.f) return big;
    MD r;
    r.m = big.m;
    r.d = big.d + small.d * expf(small.m - big.m);
    return r;
}

__global__ void softmax_online_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
    const float* in = x + (size_t)blockIdx.x * n;
    MD part = {-INFINITY, 0.f};
    for (int i = threadIdx.x; i < n; i += blockDim.x) part = combine(part, MD{in[i], 1.f});
    for (int o = 16; o; o >>= 1) {
        MD other = {__shfl_xor_sync(0xffffffffu, part.m, o), __shfl_xor_sync(0xffffffffu, part.d, o)};
        part = combine(part, other);
    }
    __shared__ MD warps[8];
    if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = part;
    __syncthreads();
    MD total = warps[0];
    for (int w = 1; w < 8; ++w) total = combine(total, warps[w]);
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[(size_t)blockIdx.x * n + i] = expf(in[i] - total.m) / total.d;
}

torch::Tensor softmax_online(torch::Tensor x) {
    auto y = torch::empty_like(x);
    softmax_online_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
'''

cpp_source = "torch::Tensor softmax_online(torch::Tensor x);"

softmax_online_ext = load_inline(
    name="softmax_online",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["softmax_online"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return softmax_online_ext.softmax_online(x)
