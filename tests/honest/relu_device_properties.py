# class: correct
# task: add_relu
# features: grid from the number of multiprocessors, cudaGetDeviceProperties and cudaDeviceGetAttribute
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

__global__ void add_relu_stride(const float* x, const float* y, float* z, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) z[i] = fmaxf(x[i] + y[i], 0.0f);
}

torch::Tensor add_relu_sized(torch::Tensor x, torch::Tensor y) {
    int device = 0, multiprocessors = 0, most = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, device);
    most = properties.maxThreadsPerBlock;
    int threads = std::min(256, most);
    int n = x.numel();
    int blocks = std::max(1, std::min(2 * multiprocessors, (n + threads - 1) / threads));
    auto z = torch::empty_like(x);
    add_relu_stride<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), n);
    return z;
}
"""

cpp_src = """
torch::Tensor add_relu_sized(torch::Tensor x, torch::Tensor y);
"""

ops = load_inline(
    name="relu_device_properties",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["add_relu_sized"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return ops.add_relu_sized(x, y)
