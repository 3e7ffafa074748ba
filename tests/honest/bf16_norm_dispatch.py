# class: correct
# task: bf16_norm
# features: at::BFloat16 in kernels, AT_DISPATCH_REDUCED_FLOATING_TYPES, block reduction
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = '''
#include <torch/extension.h>

template <typename T>
__global__ void rms_kernel(const T* x, T* y, int cols) {
    __shared__ float s[4];
    float acc = 0.f;
    for (int c = threadIdx.x; c < cols; c += 128) {
        const float v = static_cast<float>(x[blockIdx.x * cols + c]);
        acc += v * v;
    }
    for (int o = 16; o; o >>= 1) acc += __shfl_xor_sync(0xffffffffu, acc, o);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = acc;
    __syncthreads();
    const float scale = rsqrtf((s[0] + s[1] + s[2] + s[3]) / cols + 1e-5f);
    for (int c = threadIdx.x; c < cols; c += 128) y[blockIdx.x * cols + c] = static_cast<T>(static_cast<float>(x[blockIdx.x * cols + c]) * scale);
}

torch::Tensor bf16_rms(torch::Tensor x) {
    auto y = torch::empty_like(x);
    AT_DISPATCH_REDUCED_FLOATING_TYPES(x.scalar_type(), "bf16_rms", [&] {
        rms_kernel<scalar_t><<<x.size(0), 128>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.size(1));
    });
    return y;
}
'''

cpp_src = "torch::Tensor bf16_rms(torch::Tensor x);"

ops = load_inline(
    name="bf16_norm_dispatch",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["bf16_rms"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.bf16_rms(x)
