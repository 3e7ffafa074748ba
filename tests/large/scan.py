import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r'''
#include <torch/extension.h>

__global__ void scan(const float* x, float* out, long rows, int n) {
    long row = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* in = x + row * n;
    float* to = out + row * n;
    double s = @FIRST@;
    for (int k = 0; k < n; ++k) {
        int i = @PLACE@;
        float v = in[i];
        @STEP@
    }
}

torch::Tensor run(torch::Tensor x) {
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    auto out = torch::empty_like(x);
    long rows = x.size(0);
    int n = x.size(1);
    scan<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), out.data_ptr<float>(), rows, n);
    return out;
}
'''
module = load_inline(name="scan", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def __init__(self, *arguments):
        super().__init__()

    def forward(self, x):
        return module.run(x)
