# class: correct
# task: to_channels_last
# features: index arithmetic over four dimensions, 32-bit division chain
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void nchw_to_nhwc_kernel(const float* in, float* out, int C, int H, int W, int total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int c = i % C;
    int w = (i / C) % W;
    int h = (i / (C * W)) % H;
    int n = i / (C * W * H);
    out[i] = in[((n * C + c) * H + h) * W + w];
}

torch::Tensor nchw_to_nhwc(torch::Tensor x) {
    TORCH_CHECK(x.dim() == 4, "four dimensions expected, got ", x.dim());
    auto out = torch::empty({x.size(0), x.size(2), x.size(3), x.size(1)}, x.options());
    int total = x.numel();
    nchw_to_nhwc_kernel<<<(total + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1), x.size(2), x.size(3), total);
    return out;
}
"""

cpp_source = """
torch::Tensor nchw_to_nhwc(torch::Tensor x);
"""

channels_last_copy_ext = load_inline(
    name="channels_last_copy",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["nchw_to_nhwc"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return channels_last_copy_ext.nchw_to_nhwc(x)
