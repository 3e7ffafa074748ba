# class: correct
# task: conv_transpose2d
# features: transposed convolution by scattering with atomicAdd over a bias-filled output
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

__global__ void fill_bias(const float* bias, float* y, int O, int plane, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = bias[(i / plane) % O];
}

__global__ void scatter(const float* x, const float* w, float* y, int C, int H, int W, int O, int K, int stride, int pad, int OH, int OW, int total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int col = i % W, row = i / W % H, c = i / (W * H) % C, n = i / (W * H * C);
    float v = x[i];
    for (int o = 0; o < O; ++o)
        for (int kh = 0; kh < K; ++kh)
            for (int kw = 0; kw < K; ++kw) {
                int oh = row * stride - pad + kh, ow = col * stride - pad + kw;
                if (oh >= 0 && oh < OH && ow >= 0 && ow < OW)
                    atomicAdd(y + ((n * O + o) * OH + oh) * OW + ow, v * w[((c * O + o) * K + kh) * K + kw]);
            }
}

torch::Tensor conv_transpose(torch::Tensor x, torch::Tensor w, torch::Tensor b, int64_t stride, int64_t pad) {
    int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), O = w.size(1), K = w.size(2);
    int OH = (H - 1) * stride - 2 * pad + K, OW = (W - 1) * stride - 2 * pad + K;
    auto y = torch::empty({N, O, OH, OW}, x.options());
    fill_bias<<<(y.numel() + 255) / 256, 256>>>(b.data_ptr<float>(), y.data_ptr<float>(), O, OH * OW, y.numel());
    scatter<<<(x.numel() + 63) / 64, 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), C, H, W, O, K, stride, pad, OH, OW, x.numel());
    return y;
}
"""

cpp_src = """
torch::Tensor conv_transpose(torch::Tensor x, torch::Tensor w, torch::Tensor b, int64_t stride, int64_t pad);
"""

ops = load_inline(
    name="conv_transpose_scatter",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["conv_transpose"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(4, 3, 4, stride=2, padding=1)

    def forward(self, x):
        return ops.conv_transpose(x, self.up.weight, self.up.bias, 2, 1)
