# class: correct
# task: block_scale
# features: optional tensor given as None, module parameter, 2-D grid over channels
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__global__ void channel_scale_kernel(const float* x, const float* scale, const float* shift, float* y, int C, int L) {
    int l = blockIdx.x * blockDim.x + threadIdx.x;
    int c = blockIdx.y % C;
    if (l < L) {
        float v = x[blockIdx.y * L + l] * scale[c];
        if (shift) v += shift[c];
        y[blockIdx.y * L + l] = v;
    }
}

torch::Tensor channel_scale(torch::Tensor x, torch::Tensor scale, const std::optional<torch::Tensor>& shift) {
    auto y = torch::empty_like(x);
    int C = x.size(1), L = x.size(2);
    channel_scale_kernel<<<dim3((L + 63) / 64, x.size(0) * C), 64>>>(x.data_ptr<float>(), scale.data_ptr<float>(),
                                                                    shift.has_value() ? shift->data_ptr<float>() : nullptr, y.data_ptr<float>(), C, L);
    return y;
}
"""

CPP_SRC = """
torch::Tensor channel_scale(torch::Tensor x, torch::Tensor scale, const std::optional<torch::Tensor>& shift);
"""

_ext = load_inline(
    name="channel_scale_optional",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["channel_scale"],
)


class ModelNew(nn.Module):
    def __init__(self, channels, shifted):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(channels))
        self.shift = nn.Parameter(torch.randn(channels)) if shifted else None

    def forward(self, x):
        return _ext.channel_scale(x, self.scale, self.shift)
