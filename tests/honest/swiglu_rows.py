# class: correct
# task: swiglu
# features: gate and value in one row, __expf under --use_fast_math, row per block
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void swiglu_kernel(const float* x, float* y, int half) {
    const float* row = x + blockIdx.x * 2 * half;
    for (int c = threadIdx.x; c < half; c += blockDim.x) {
        float g = row[c];
        y[blockIdx.x * half + c] = g / (1.0f + __expf(-g)) * row[half + c];
    }
}

torch::Tensor swiglu(torch::Tensor x) {
    int half = x.size(1) / 2;
    auto y = torch::empty({x.size(0), half}, x.options());
    swiglu_kernel<<<x.size(0), 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), half);
    return y;
}
"""

cpp_src = """
torch::Tensor swiglu(torch::Tensor x);
"""

ops = load_inline(
    name="swiglu_rows",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["swiglu"],
    extra_cuda_cflags=["-O3", "--use_fast_math"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.swiglu(x)
