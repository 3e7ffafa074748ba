# class: correct
# task: conv2d
# features: im2col kernel, then a product kernel, temporary of a batch
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__global__ void im2col(const float* x, float* col, int C, int H, int W, int K, int pad) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int plane = H * W, rows = C * K * K;
    if (i >= rows * plane) return;
    int p = i % plane, r = i / plane;
    int kw = r % K, kh = r / K % K, c = r / (K * K);
    int h = p / W + kh - pad, w = p % W + kw - pad;
    bool inside = h >= 0 && h < H && w >= 0 && w < W;
    col[i] = inside ? x[(c * H + h) * W + w] : 0.f;
}

__global__ void gemm(const float* a, const float* col, const float* bias, float* y, int rows, int plane) {
    int p = blockIdx.x * blockDim.x + threadIdx.x, o = blockIdx.y;
    if (p >= plane) return;
    float acc = 0.f;
    for (int r = 0; r < rows; ++r) acc += a[o * rows + r] * col[r * plane + p];
    y[o * plane + p] = acc + bias[o];
}

torch::Tensor conv2d_gemm(torch::Tensor x, torch::Tensor w, torch::Tensor b, int pad = 1) {
    int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), O = w.size(0), K = w.size(2);
    auto y = torch::empty({N, O, H, W}, x.options());
    auto col = torch::empty({C * K * K, H * W}, x.options());
    int total = col.numel();
    for (int n = 0; n < N; ++n) {
        im2col<<<(total + 255) / 256, 256>>>(x[n].data_ptr<float>(), col.data_ptr<float>(), C, H, W, K, pad);
        gemm<<<dim3((H * W + 127) / 128, O), 128>>>(w.data_ptr<float>(), col.data_ptr<float>(), b.data_ptr<float>(), y[n].data_ptr<float>(), C * K * K, H * W);
    }
    return y;
}
"""

CPP_SRC = "torch::Tensor conv2d_gemm(torch::Tensor x, torch::Tensor w, torch::Tensor b, int pad = 1);"

_ext = load_inline(
    name="conv2d_im2col",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["conv2d_gemm"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, padding):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=padding)
        self.pad = padding

    def forward(self, x):
        return _ext.conv2d_gemm(x, self.conv.weight, self.conv.bias, self.pad)
