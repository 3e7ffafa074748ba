# class: correct
# task: mean_square
# features: block chain with a flag: atomic_ref release and acquire, nanosleep while waiting
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cuda/atomic>

// Each block adds its part to what the block before it has published.
__global__ void chain_kernel(const float* x, float* sums, int* ready, float* out, int n) {
    __shared__ float s[128];
    float acc = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) acc = fmaf(x[i], x[i], acc);
    s[threadIdx.x] = acc;
    __syncthreads();
    for (int step = 64; step; step >>= 1) {
        if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        float before = 0.f;
        if (blockIdx.x > 0) {
            cuda::atomic_ref<int, cuda::thread_scope_device> flag(ready[blockIdx.x - 1]);
            while (flag.load(cuda::memory_order_acquire) == 0) __nanosleep(64);
            before = sums[blockIdx.x - 1];
        }
        sums[blockIdx.x] = before + s[0];
        cuda::atomic_ref<int, cuda::thread_scope_device> mine(ready[blockIdx.x]);
        mine.store(1, cuda::memory_order_release);
        if (blockIdx.x == gridDim.x - 1) out[0] = (before + s[0]) / n;
    }
}

torch::Tensor mean_square_chain(torch::Tensor x) {
    auto sums = torch::empty({12}, x.options());
    auto ready = torch::zeros({12}, x.options().dtype(torch::kInt32));
    auto out = torch::empty({}, x.options());
    chain_kernel<<<12, 128>>>(x.data_ptr<float>(), sums.data_ptr<float>(), ready.data_ptr<int>(), out.data_ptr<float>(), x.numel());
    return out;
}
"""

cpp_src = "torch::Tensor mean_square_chain(torch::Tensor x);"

ops = load_inline(
    name="mean_square_flag",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["mean_square_chain"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.mean_square_chain(x)
