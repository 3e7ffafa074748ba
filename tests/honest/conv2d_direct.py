# class: correct
# task: conv2d
# features: direct convolution, thread per output, nn.Conv2d kept as submodule
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__global__ void conv2d_kernel(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b, float* __restrict__ y,
                              int N, int C, int H, int W, int O, int K, int pad) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= N * O * H * W) return;
    int ow = idx % W, oh = (idx / W) % H, oc = (idx / (W * H)) % O, n = idx / (W * H * O);
    float sum = b[oc];
    for (int c = 0; c < C; ++c)
        for (int kh = 0; kh < K; ++kh) {
            int ih = oh + kh - pad;
            if (ih < 0 || ih >= H) continue;
            for (int kw = 0; kw < K; ++kw) {
                int iw = ow + kw - pad;
                if (iw < 0 || iw >= W) continue;
                sum += x[((n * C + c) * H + ih) * W + iw] * w[((oc * C + c) * K + kh) * K + kw];
            }
        }
    y[idx] = sum;
}

torch::Tensor conv2d(torch::Tensor x, torch::Tensor w, torch::Tensor b, int64_t pad) {
    int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), O = w.size(0), K = w.size(2);
    TORCH_CHECK(2 * pad == K - 1, "only same padding");
    auto y = torch::empty({N, O, H, W}, x.options());
    int total = y.numel();
    conv2d_kernel<<<(total + 127) / 128, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), N, C, H, W, O, K, pad);
    return y;
}
"""

CPP_SRC = "torch::Tensor conv2d(torch::Tensor x, torch::Tensor w, torch::Tensor b, int64_t pad);"

_ext = load_inline(
    name="conv2d_direct",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["conv2d"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, padding):
        super().__init__()
        self.padding = padding
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=padding)

    def forward(self, x):
        return _ext.conv2d(x, self.conv.weight, self.conv.bias, self.padding)
