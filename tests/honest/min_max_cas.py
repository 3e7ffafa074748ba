# class: correct
# task: min_max
# features: compare-and-swap loop on float bits, tensors filled with infinities by torch::full
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = '''
#include <torch/extension.h>
#include <limits>

__device__ void atomic_min_float(float* address, float value) {
    int* as_int = (int*)address;
    int old = *as_int, assumed;
    do {
        assumed = old;
        if (__int_as_float(assumed) <= value) break;
        old = atomicCAS(as_int, assumed, __float_as_int(value));
    } while (assumed != old);
}

__global__ void min_max_cas_kernel(const float* x, float* lo, float* minus_hi, int n) {
    float a = INFINITY, b = INFINITY;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        a = fminf(a, x[i]);
        b = fminf(b, -x[i]);
    }
    for (int o = 16; o; o >>= 1) {
        a = fminf(a, __shfl_xor_sync(0xffffffff, a, o));
        b = fminf(b, __shfl_xor_sync(0xffffffff, b, o));
    }
    if (threadIdx.x % 32 == 0) {
        atomic_min_float(lo, a);
        atomic_min_float(minus_hi, b);
    }
}

__global__ void negate_kernel(const float* in, float* out) { *out = -*in; }

std::tuple<torch::Tensor, torch::Tensor> min_max_cas(torch::Tensor x) {
    auto lo = torch::full({}, std::numeric_limits<float>::infinity(), x.options());
    auto minus_hi = torch::full({}, std::numeric_limits<float>::infinity(), x.options());
    auto hi = torch::empty({}, x.options());
    min_max_cas_kernel<<<10, 96>>>(x.data_ptr<float>(), lo.data_ptr<float>(), minus_hi.data_ptr<float>(), x.numel());
    negate_kernel<<<1, 1>>>(minus_hi.data_ptr<float>(), hi.data_ptr<float>());
    return {lo, hi};
}
'''

CPP_SRC = "std::tuple<torch::Tensor, torch::Tensor> min_max_cas(torch::Tensor x);"

_ext = load_inline(
    name="min_max_cas",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["min_max_cas"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.min_max_cas(x)
