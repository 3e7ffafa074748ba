# class: correct
# task: big_add
# features: unsigned __int128 in device code, longlong2 loads
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = '''
#include <torch/extension.h>

__device__ unsigned __int128 gather(const longlong2* p) {
    const longlong2 lo = p[0], hi = p[1];
    const unsigned long long l = (unsigned long long)lo.x | ((unsigned long long)lo.y << 32);
    const unsigned long long h = (unsigned long long)hi.x | ((unsigned long long)hi.y << 32);
    return ((unsigned __int128)h << 64) | l;
}

__global__ void wide_kernel(const longlong2* a, const longlong2* b, longlong2* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const unsigned __int128 s = gather(a + 2 * i) + gather(b + 2 * i);
        const unsigned long long l = (unsigned long long)s, h = (unsigned long long)(s >> 64);
        c[2 * i] = make_longlong2((long long)(l & 0xffffffffull), (long long)(l >> 32));
        c[2 * i + 1] = make_longlong2((long long)(h & 0xffffffffull), (long long)(h >> 32));
    }
}

torch::Tensor big_add_wide(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty_like(a);
    int n = a.size(0);
    wide_kernel<<<(n + 127) / 128, 128>>>((const longlong2*)a.data_ptr(), (const longlong2*)b.data_ptr(), (longlong2*)c.data_ptr(), n);
    return c;
}
'''

CPP_SRC = "torch::Tensor big_add_wide(torch::Tensor a, torch::Tensor b);"

_ext = load_inline(
    name="big_add_int128",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["big_add_wide"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return _ext.big_add_wide(a, b)
