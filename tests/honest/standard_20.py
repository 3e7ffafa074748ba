# class: correct
# task: relu
# features: C++20 in host and device code: concepts, span, -std=c++20 in extra_cuda_cflags alone
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>
#include <concepts>
#include <span>

template <class T>
concept Real = std::is_floating_point_v<T>;

template <std::integral I>
I blocks_of(I n, I threads) {
    return (n + threads - 1) / threads;
}

template <Real T, std::integral I>
__global__ void relu_kernel(const T* in, T* out, I n) {
    const I i = static_cast<I>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] > T(0) ? in[i] : T(0);
}

torch::Tensor relu_forward(torch::Tensor x) {
    auto out = torch::empty_like(x);
    const int64_t n = x.numel();
    const int choices[] = {64, 128, 256};
    const std::span<const int> threads(choices);
    relu_kernel<float, int64_t><<<blocks_of<int64_t>(n, threads.back()), threads.back()>>>(
        x.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}
"""

ext = load_inline(
    name="standard_20",
    cpp_sources="torch::Tensor relu_forward(torch::Tensor x);",
    cuda_sources=CUDA_SRC,
    functions=["relu_forward"],
    extra_cuda_cflags=["-O3", "-std=c++20"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ext.relu_forward(x)
