# class: correct
# task: gelu
# features: block size from cudaOccupancyMaxPotentialBlockSize, grid-stride loop, any block size is right
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = '''
#include <torch/extension.h>

__global__ void gelu_stride_kernel(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        const float v = x[i];
        y[i] = v * normcdff(v);
    }
}

torch::Tensor gelu_occupancy(torch::Tensor x) {
    int least_grid = 1, block = 128;
    cudaOccupancyMaxPotentialBlockSize(&least_grid, &block, gelu_stride_kernel, 0, 0);
    if (block < 32 || block > 1024) block = 128;
    const int n = x.numel();
    const int grid = std::max(1, std::min(least_grid, (n + block - 1) / block));
    auto y = torch::empty_like(x);
    gelu_stride_kernel<<<grid, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
'''

cpp_src = "torch::Tensor gelu_occupancy(torch::Tensor x);"

module = load_inline(
    name="launch_occupancy",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["gelu_occupancy"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.gelu_occupancy(x)
