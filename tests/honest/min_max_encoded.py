# class: correct
# task: min_max
# features: atomicMin and atomicMax on an order-preserving integer code, kernel that initialises, decode kernel
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__device__ unsigned int encode(float v) {
    unsigned int u = __float_as_uint(v);
    return (u & 0x80000000u) ? ~u : (u | 0x80000000u);
}
__device__ float decode(unsigned int u) { return __uint_as_float((u & 0x80000000u) ? (u & 0x7fffffffu) : ~u); }

__global__ void init(unsigned int* code) {
    code[0] = 0xffffffffu;
    code[1] = 0u;
}
__global__ void find(const float* x, unsigned int* code, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned int u = encode(x[i]);
        atomicMin(&code[0], u);
        atomicMax(&code[1], u);
    }
}
__global__ void finish(const unsigned int* code, float* lo, float* hi) {
    *lo = decode(code[0]);
    *hi = decode(code[1]);
}

std::vector<torch::Tensor> min_max(torch::Tensor x) {
    auto code = torch::empty({2}, x.options().dtype(torch::kInt32));
    auto lo = torch::empty({}, x.options()), hi = torch::empty({}, x.options());
    unsigned int* c = reinterpret_cast<unsigned int*>(code.data_ptr<int>());
    int n = x.numel();
    init<<<1, 1>>>(c);
    find<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), c, n);
    finish<<<1, 1>>>(c, lo.data_ptr<float>(), hi.data_ptr<float>());
    return {lo, hi};
}
"""

cpp_src = "std::vector<torch::Tensor> min_max(torch::Tensor x);"

ops = load_inline(
    name="min_max_encoded",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["min_max"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.min_max(x)
