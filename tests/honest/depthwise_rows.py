# class: correct
# task: depthwise
# features: depthwise 3x3, weights in registers, sliding window along a column
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void depthwise_kernel(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y, int C, int H, int W) {
    const int plane = blockIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= W) return;
    float k[9];
#pragma unroll
    for (int i = 0; i < 9; ++i) k[i] = w[(plane % C) * 9 + i];
    const float* in = x + plane * H * W;
    auto at = [&](int r, int c) { return r >= 0 && r < H && c >= 0 && c < W ? in[r * W + c] : 0.0f; };
    float window[3][3];
    for (int j = 0; j < 3; ++j) {
        window[1][j] = 0.0f;
        window[2][j] = at(0, col + j - 1);
    }
    for (int r = 0; r < H; ++r) {
        for (int j = 0; j < 3; ++j) {
            window[0][j] = window[1][j];
            window[1][j] = window[2][j];
            window[2][j] = at(r + 1, col + j - 1);
        }
        float acc = 0.0f;
#pragma unroll
        for (int i = 0; i < 9; ++i) acc += window[i / 3][i % 3] * k[i];
        y[plane * H * W + r * W + col] = acc;
    }
}

torch::Tensor depthwise(torch::Tensor x, torch::Tensor w) {
    auto y = torch::empty_like(x);
    depthwise_kernel<<<dim3((x.size(3) + 31) / 32, x.size(0) * x.size(1)), 32>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(),
                                                                                x.size(1), x.size(2), x.size(3));
    return y;
}
"""

cpp_source = "torch::Tensor depthwise(torch::Tensor x, torch::Tensor w);"

depthwise_rows_ext = load_inline(
    name="depthwise_rows",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["depthwise"],
)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)

    def forward(self, x):
        return depthwise_rows_ext.depthwise(x, self.conv.weight)
