# class: correct
# task: nearest
# features: factor read from a __device__ symbol with an initialiser, struct of sizes as an argument
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

__device__ int factor = 3;

struct Shape {
    int planes, height, width;
};

__global__ void nearest_kernel(const float* x, float* y, Shape s) {
    int total = s.planes * s.height * factor * s.width * factor;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        int w = i % (s.width * factor), h = i / (s.width * factor) % (s.height * factor), p = i / (s.width * factor * s.height * factor);
        y[i] = x[(p * s.height + h / factor) * s.width + w / factor];
    }
}

torch::Tensor nearest3x(torch::Tensor x) {
    auto y = torch::empty({x.size(0), x.size(1), x.size(2) * 3, x.size(3) * 3}, x.options());
    Shape s{(int)(x.size(0) * x.size(1)), (int)x.size(2), (int)x.size(3)};
    nearest_kernel<<<10, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), s);
    return y;
}
"""

cpp_src = "torch::Tensor nearest3x(torch::Tensor x);"

ops = load_inline(
    name="nearest_upsample_expand",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["nearest3x"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.nearest3x(x)
