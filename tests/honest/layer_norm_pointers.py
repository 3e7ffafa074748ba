# class: correct
# task: layer_norm
# features: data_ptr() as integers from Python, int64_t arguments reinterpret_cast, output allocated in Python
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

__global__ void layer_norm_warp(const float* x, const float* w, const float* b, float* y, int rows, int cols, float eps) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (row >= rows) return;
    float sum = 0.f;
    for (int c = lane; c < cols; c += 32) sum += x[row * cols + c];
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
    float mean = sum / cols, sq = 0.f;
    for (int c = lane; c < cols; c += 32) {
        float d = x[row * cols + c] - mean;
        sq = fmaf(d, d, sq);
    }
    for (int o = 16; o; o >>= 1) sq += __shfl_xor_sync(0xffffffff, sq, o);
    float r = 1.0f / sqrtf(sq / cols + eps);
    for (int c = lane; c < cols; c += 32) y[row * cols + c] = fmaf((x[row * cols + c] - mean) * r, w[c], b[c]);
}

void layer_norm_raw(int64_t x, int64_t w, int64_t b, int64_t y, int64_t rows, int64_t cols, double eps) {
    layer_norm_warp<<<(rows + 3) / 4, 128>>>(reinterpret_cast<const float*>(x), reinterpret_cast<const float*>(w),
                                             reinterpret_cast<const float*>(b), reinterpret_cast<float*>(y), rows, cols, eps);
}
"""

cpp_src = """
void layer_norm_raw(int64_t x, int64_t w, int64_t b, int64_t y, int64_t rows, int64_t cols, double eps);
"""

module = load_inline(
    name="layer_norm_pointers",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["layer_norm_raw"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = nn.LayerNorm(size)

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        weight, bias = self.norm.weight, self.norm.bias
        module.layer_norm_raw(x.data_ptr(), weight.data_ptr(), bias.data_ptr(), out.data_ptr(), x.shape[0], x.shape[1], self.norm.eps)
        return out
