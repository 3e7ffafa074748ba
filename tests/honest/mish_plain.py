# class: correct
# task: mish
# features: log1pf, expf, 3-D input flattened, branch for large values
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <cmath>

__global__ void mish_kernel(const float* x, float* out, int size) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < size) {
        float v = x[idx];
        float sp = v > 20.0f ? v : log1pf(expf(v));
        out[idx] = v * tanhf(sp);
    }
}

torch::Tensor mish(torch::Tensor x) {
    auto out = torch::empty_like(x);
    int size = x.numel();
    int block = 256;
    int grid = (size + block - 1) / block;
    mish_kernel<<<grid, block>>>(x.data_ptr<float>(), out.data_ptr<float>(), size);
    return out;
}
"""

cpp_source = """
torch::Tensor mish(torch::Tensor x);
"""

mish_plain_ext = load_inline(
    name="mish_plain",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["mish"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return mish_plain_ext.mish(x)
