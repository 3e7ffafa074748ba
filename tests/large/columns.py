import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r'''
#include <torch/extension.h>

__global__ void columns(const float* x, @TYPE@* out, long total, int rows, int width) {
    long at = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (at >= total) return;
    const float* in = x + at / width * rows * width + at % width;
    float best = @FIRST@;
    long place = 0;
    for (int r = 0; r < rows; ++r) {
        float v = in[(long)r * width];
        @STEP@
    }
    out[at] = @VALUE@;
}

torch::Tensor run(torch::Tensor x) {
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    auto out = torch::empty({x.size(0), x.size(2)}, x.options().dtype(@DTYPE@));
    long total = out.numel();
    int rows = x.size(1);
    columns<<<(total + 127) / 128, 128>>>(x.data_ptr<float>(), out.data_ptr<@POINTER@>(), total, rows, x.size(2));
    return out@SHAPE@;
}
'''
module = load_inline(name="columns", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def __init__(self, *arguments):
        super().__init__()

    def forward(self, x):
        return module.run(x)
