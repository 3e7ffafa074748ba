# class: correct
# task: min_max
# features: 64-bit atomicCAS on two packed floats: minimum and maximum in one word
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>
#include <limits>

__device__ unsigned long long pack(float lo, float hi) {
    return ((unsigned long long)__float_as_uint(hi) << 32) | __float_as_uint(lo);
}

__global__ void start_kernel(unsigned long long* word) { *word = pack(INFINITY, -INFINITY); }

__global__ void min_max_packed_kernel(const float* x, unsigned long long* word, int n) {
    float lo = INFINITY, hi = -INFINITY;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        lo = fminf(lo, x[i]);
        hi = fmaxf(hi, x[i]);
    }
    unsigned long long seen = atomicAdd(word, 0ull), wanted;
    do {
        const float l = __uint_as_float((unsigned int)seen), h = __uint_as_float((unsigned int)(seen >> 32));
        wanted = pack(fminf(l, lo), fmaxf(h, hi));
        if (wanted == seen) break;
        const unsigned long long old = atomicCAS(word, seen, wanted);
        if (old == seen) break;
        seen = old;
    } while (true);
}

__global__ void unpack_kernel(const unsigned long long* word, float* lo, float* hi) {
    *lo = __uint_as_float((unsigned int)*word);
    *hi = __uint_as_float((unsigned int)(*word >> 32));
}

std::tuple<torch::Tensor, torch::Tensor> min_max_packed(torch::Tensor x) {
    auto word = torch::empty({1}, x.options().dtype(torch::kInt64));
    auto lo = torch::empty({}, x.options()), hi = torch::empty({}, x.options());
    auto* p = reinterpret_cast<unsigned long long*>(word.data_ptr<int64_t>());
    start_kernel<<<1, 1>>>(p);
    min_max_packed_kernel<<<4, 64>>>(x.data_ptr<float>(), p, x.numel());
    unpack_kernel<<<1, 1>>>(p, lo.data_ptr<float>(), hi.data_ptr<float>());
    return {lo, hi};
}
"""

CPP_SRC = "std::tuple<torch::Tensor, torch::Tensor> min_max_packed(torch::Tensor x);"

_ext = load_inline(
    name="cas64_minimum",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["min_max_packed"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.min_max_packed(x)
