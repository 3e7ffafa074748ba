# class: correct
# task: conv1d
# features: strided convolution, block per (batch, channel), module's own stride and padding
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void conv1d_kernel(const float* x, const float* w, const float* b, float* y, int C, int L, int O, int K, int stride, int pad, int out) {
    int n = blockIdx.y / O, o = blockIdx.y % O;
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= out) return;
    float acc = b[o];
    for (int c = 0; c < C; ++c)
        for (int k = 0; k < K; ++k) {
            int s = t * stride + k - pad;
            if (0 <= s && s < L) acc += x[(n * C + c) * L + s] * w[(o * C + c) * K + k];
        }
    y[(n * O + o) * out + t] = acc;
}

torch::Tensor conv1d(torch::Tensor x, torch::Tensor w, torch::Tensor b, int64_t stride, int64_t pad) {
    int N = x.size(0), C = x.size(1), L = x.size(2), O = w.size(0), K = w.size(2);
    int out = (L + 2 * pad - K) / stride + 1;
    auto y = torch::empty({N, O, out}, x.options());
    conv1d_kernel<<<dim3((out + 31) / 32, N * O), 32>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), C, L, O, K, stride, pad, out);
    return y;
}
"""

cpp_src = "torch::Tensor conv1d(torch::Tensor x, torch::Tensor w, torch::Tensor b, int64_t stride, int64_t pad);"

ops = load_inline(
    name="conv1d_strided",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["conv1d"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 6, 5, stride=2, padding=2)

    def forward(self, x):
        c = self.conv
        return ops.conv1d(x, c.weight, c.bias, c.stride[0], c.padding[0])
