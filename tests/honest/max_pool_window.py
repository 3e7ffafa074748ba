# class: correct
# task: max_pool2d
# features: window clipped at the edges, integer arguments from the module
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>
#include <cfloat>

__global__ void max_pool_kernel(const float* x, float* y, int H, int W, int OH, int OW, int k, int s, int p, int total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int ow = i % OW, oh = (i / OW) % OH, plane = i / (OW * OH);
    int h0 = max(oh * s - p, 0), w0 = max(ow * s - p, 0);
    int h1 = min(oh * s - p + k, H), w1 = min(ow * s - p + k, W);
    float best = -FLT_MAX;
    for (int h = h0; h < h1; ++h)
        for (int w = w0; w < w1; ++w) best = fmaxf(best, x[(plane * H + h) * W + w]);
    y[i] = best;
}

torch::Tensor max_pool(torch::Tensor x, int64_t k, int64_t s, int64_t p) {
    int OH = (x.size(2) + 2 * p - k) / s + 1, OW = (x.size(3) + 2 * p - k) / s + 1;
    auto y = torch::empty({x.size(0), x.size(1), OH, OW}, x.options());
    int total = y.numel();
    max_pool_kernel<<<(total + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(2), x.size(3), OH, OW, k, s, p, total);
    return y;
}
"""

CPP_SRC = """
torch::Tensor max_pool(torch::Tensor x, int64_t k, int64_t s, int64_t p);
"""

_ext = load_inline(
    name="max_pool_window",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["max_pool"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel, self.stride, self.padding = 3, 2, 1

    def forward(self, x):
        return _ext.max_pool(x, self.kernel, self.stride, self.padding)
