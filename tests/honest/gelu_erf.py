# class: correct
# task: gelu
# features: elementwise, erff, grid-stride loop, C10_CUDA_KERNEL_LAUNCH_CHECK
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = '''
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>

__device__ __forceinline__ float gelu_value(float v) {
    return 0.5f * v * (1.0f + erff(v * 0.70710678118654752440f));
}

__global__ void gelu_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t n) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        y[i] = gelu_value(x[i]);
    }
}

torch::Tensor gelu(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    auto input = x.contiguous();
    auto y = torch::empty_like(input);
    const int threads = 256;
    const int blocks = (int)std::min<int64_t>((input.numel() + threads - 1) / threads, 16);
    gelu_kernel<<<blocks, threads>>>(input.data_ptr<float>(), y.data_ptr<float>(), input.numel());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
'''

cpp_src = "torch::Tensor gelu(torch::Tensor x);"

module = load_inline(
    name="gelu_erf",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["gelu"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.gelu(x)
