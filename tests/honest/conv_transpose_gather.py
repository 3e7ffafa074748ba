# class: correct
# task: conv_transpose2d
# features: transposed convolution as a gather, parity tests on the output index
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void gather_kernel(const float* x, const float* w, const float* b, float* y, int C, int H, int W, int O, int OH, int OW) {
    int ow = blockIdx.x * blockDim.x + threadIdx.x, oh = blockIdx.y;
    int n = blockIdx.z / O, o = blockIdx.z % O;
    if (ow >= OW) return;
    float acc = b[o];
    for (int kh = 0; kh < 4; ++kh) {
        int t = oh + 1 - kh;
        if (t < 0 || t % 2 != 0 || t / 2 >= H) continue;
        for (int kw = 0; kw < 4; ++kw) {
            int u = ow + 1 - kw;
            if (u < 0 || u % 2 != 0 || u / 2 >= W) continue;
            for (int c = 0; c < C; ++c) acc += x[((n * C + c) * H + t / 2) * W + u / 2] * w[((c * O + o) * 4 + kh) * 4 + kw];
        }
    }
    y[((n * O + o) * OH + oh) * OW + ow] = acc;
}

torch::Tensor conv_transpose_gather(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), O = w.size(1), OH = 2 * H, OW = 2 * W;
    auto y = torch::empty({N, O, OH, OW}, x.options());
    gather_kernel<<<dim3((OW + 15) / 16, OH, N * O), 16>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), C, H, W, O, OH, OW);
    return y;
}
"""

cpp_src = """
torch::Tensor conv_transpose_gather(torch::Tensor x, torch::Tensor w, torch::Tensor b);
"""

ops = load_inline(
    name="conv_transpose_gather",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["conv_transpose_gather"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(4, 3, 4, stride=2, padding=1)

    def forward(self, x):
        return ops.conv_transpose_gather(x, self.up.weight, self.up.bias)
