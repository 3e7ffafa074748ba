# class: correct
# task: row_norm
# features: division by a norm, eps clamp, warp per row
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__global__ void l2_kernel(const float* x, float* y, int rows, int cols, float eps) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (warp >= rows) return;
    float ss = 0.f;
    for (int c = lane; c < cols; c += 32) {
        float v = x[warp * cols + c];
        ss += v * v;
    }
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) ss += __shfl_xor_sync(0xffffffff, ss, o);
    float norm = fmaxf(sqrtf(ss), eps);
    for (int c = lane; c < cols; c += 32) y[warp * cols + c] = x[warp * cols + c] / norm;
}

torch::Tensor l2_normalize(torch::Tensor x, double eps) {
    auto y = torch::empty_like(x);
    int rows = x.size(0);
    l2_kernel<<<(rows * 32 + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, x.size(1), eps);
    return y;
}
"""

CPP_SRC = """
torch::Tensor l2_normalize(torch::Tensor x, double eps);
"""

_ext = load_inline(
    name="row_norm_l2",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["l2_normalize"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.l2_normalize(x, 1e-12)
