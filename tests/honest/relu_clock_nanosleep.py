# class: correct
# task: add_relu
# features: clock64, %globaltimer and __nanosleep without influence on the answer
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

__global__ void add_relu_timed_kernel(const float* x, const float* y, float* z, long long* spent, int n) {
    long long begin = clock64();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x % 32 == 0) __nanosleep(20);
    if (i < n) z[i] = fmaxf(x[i] + y[i], 0.f);
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    if (threadIdx.x == 0) spent[blockIdx.x] = clock64() - begin + (now == 0 ? 1 : 0);
}

torch::Tensor add_relu_timed(torch::Tensor x, torch::Tensor y) {
    auto z = torch::empty_like(x);
    int n = x.numel(), blocks = (n + 255) / 256;
    auto spent = torch::empty({blocks}, x.options().dtype(torch::kInt64));
    add_relu_timed_kernel<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), (long long*)spent.data_ptr<int64_t>(), n);
    return z;
}
"""

cpp_src = """
torch::Tensor add_relu_timed(torch::Tensor x, torch::Tensor y);
"""

module = load_inline(
    name="relu_clock_nanosleep",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["add_relu_timed"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return module.add_relu_timed(x, y)
