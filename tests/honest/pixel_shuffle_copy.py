# class: correct
# task: pixel_shuffle
# features: index arithmetic, anonymous namespace kernel, static helper
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

namespace {
constexpr int kThreads = 128;

__global__ void kernel(const float* in, float* out, int C, int H, int W, int r, int total) {
    int i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= total) return;
    int ow = i % (W * r), oh = i / (W * r) % (H * r), c = i / (W * r * H * r) % C, n = i / (W * r * H * r * C);
    int ic = c * r * r + (oh % r) * r + ow % r;
    out[i] = in[((n * C * r * r + ic) * H + oh / r) * W + ow / r];
}

int blocks_for(int64_t n) { return static_cast<int>((n + kThreads - 1) / kThreads); }
}  // namespace

torch::Tensor pixel_shuffle(torch::Tensor x, int64_t r) {
    auto out = torch::empty({x.size(0), x.size(1) / (r * r), x.size(2) * r, x.size(3) * r}, x.options());
    kernel<<<blocks_for(out.numel()), kThreads>>>(x.data_ptr<float>(), out.data_ptr<float>(), out.size(1), x.size(2), x.size(3), r, out.numel());
    return out;
}
"""

cpp_src = "torch::Tensor pixel_shuffle(torch::Tensor x, int64_t r);"

ops = load_inline(
    name="pixel_shuffle_copy",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["pixel_shuffle"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.pixel_shuffle(x, 2)
