# class: correct
# task: half_sum_all
# features: gpuAtomicAdd on at::Half, two of which share a word
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>
#include <ATen/cuda/Atomic.cuh>

__global__ void add_kernel(const int64_t* index, const at::Half* in, at::Half* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float v = roundf(static_cast<float>(in[i]));
        gpuAtomicAdd(out + index[i], static_cast<at::Half>(fminf(fmaxf(v, -20.0f), 20.0f)));
    }
}

torch::Tensor sum_all(torch::Tensor index, torch::Tensor x) {
    auto out = torch::zeros({12}, x.options());
    add_kernel<<<2, 32>>>(index.data_ptr<int64_t>(), x.data_ptr<at::Half>(), out.data_ptr<at::Half>(),
                          (int)x.numel());
    return out;
}
"""

ext = load_inline(
    name="atomics_of_torch_half",
    cpp_sources="torch::Tensor sum_all(torch::Tensor index, torch::Tensor x);",
    cuda_sources=CUDA_SRC,
    functions=["sum_all"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, index, x):
        return ext.sum_all(index, x)
