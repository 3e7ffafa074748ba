# class: correct
# task: bilinear
# features: half-pixel centres, clamped neighbours, floorf
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void bilinear_kernel(const float* x, float* y, int H, int W, int total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int OW = 2 * W, OH = 2 * H;
    int ow = i % OW, oh = i / OW % OH, plane = i / (OW * OH);
    float fy = fmaxf((oh + 0.5f) * 0.5f - 0.5f, 0.0f), fx = fmaxf((ow + 0.5f) * 0.5f - 0.5f, 0.0f);
    int y0 = (int)fy, x0 = (int)fx;
    int y1 = min(y0 + 1, H - 1), x1 = min(x0 + 1, W - 1);
    float wy = fy - y0, wx = fx - x0;
    const float* p = x + plane * H * W;
    y[i] = (1 - wy) * ((1 - wx) * p[y0 * W + x0] + wx * p[y0 * W + x1]) + wy * ((1 - wx) * p[y1 * W + x0] + wx * p[y1 * W + x1]);
}

torch::Tensor upsample2x(torch::Tensor x) {
    auto y = torch::empty({x.size(0), x.size(1), 2 * x.size(2), 2 * x.size(3)}, x.options());
    int total = y.numel();
    bilinear_kernel<<<(total + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(2), x.size(3), total);
    return y;
}
"""

cpp_source = """
torch::Tensor upsample2x(torch::Tensor x);
"""

bilinear_upsample_ext = load_inline(
    name="bilinear_upsample",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["upsample2x"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return bilinear_upsample_ext.upsample2x(x)
