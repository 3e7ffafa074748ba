# class: correct
# task: blur
# features: __constant__ stencil with an initialiser, 2-D static shared tile with halo
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

#define B 16
__constant__ float stencil[3][3] = {{0.0625f, 0.125f, 0.0625f}, {0.125f, 0.25f, 0.125f}, {0.0625f, 0.125f, 0.0625f}};

__global__ void blur_kernel(const float* x, float* y, int H, int W) {
    __shared__ float t[B + 2][B + 2];
    x += blockIdx.z * H * W;
    y += blockIdx.z * H * W;
    for (int r = threadIdx.y; r < B + 2; r += B)
        for (int c = threadIdx.x; c < B + 2; c += B) {
            int h = blockIdx.y * B + r - 1, w = blockIdx.x * B + c - 1;
            t[r][c] = (h >= 0 && w >= 0 && h < H && w < W) ? x[h * W + w] : 0.f;
        }
    __syncthreads();
    int h = blockIdx.y * B + threadIdx.y, w = blockIdx.x * B + threadIdx.x;
    if (h < H && w < W) {
        float acc = 0.f;
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) acc += stencil[i][j] * t[threadIdx.y + i][threadIdx.x + j];
        y[h * W + w] = acc;
    }
}

torch::Tensor blur(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int H = x.size(2), W = x.size(3);
    blur_kernel<<<dim3((W + B - 1) / B, (H + B - 1) / B, x.size(0)), dim3(B, B)>>>(x.data_ptr<float>(), y.data_ptr<float>(), H, W);
    return y;
}
"""

cpp_source = """
torch::Tensor blur(torch::Tensor x);
"""

blur_stencil_ext = load_inline(
    name="blur_stencil",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["blur"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return blur_stencil_ext.blur(x)
