# class: correct
# task: add_relu
# features: cudaLaunchKernel with an argument array, kernel by function pointer
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r'''
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void add_relu_k(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = fmaxf(a[i] + b[i], 0.0f);
}

torch::Tensor add_relu_by_pointer(torch::Tensor x, torch::Tensor y) {
    auto out = torch::empty_like(x);
    const float* a = x.data_ptr<float>();
    const float* b = y.data_ptr<float>();
    float* c = out.data_ptr<float>();
    int n = static_cast<int>(x.numel());
    void* args[] = {&a, &b, &c, &n};
    dim3 block(128), grid((n + block.x - 1) / block.x);
    cudaError_t status = cudaLaunchKernel((const void*)add_relu_k, grid, block, args, 0, nullptr);
    TORCH_CHECK(status == cudaSuccess, "launch failed: ", cudaGetErrorString(status));
    return out;
}
'''

CPP_SRC = "torch::Tensor add_relu_by_pointer(torch::Tensor x, torch::Tensor y);"

_ext = load_inline(
    name="add_relu_pointer_launch",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["add_relu_by_pointer"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return _ext.add_relu_by_pointer(x, y)
