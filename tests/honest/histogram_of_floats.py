# class: correct
# task: histogram_float
# features: clamp and conversion to int, atomicAdd on int zeros
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void histogram_float_kernel(const float* x, int* bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = fminf(fmaxf(x[i], -4.0f), 3.999f);
        int bin = static_cast<int>((v + 4.0f) * 8.0f);
        atomicAdd(bins + bin, 1);
    }
}

torch::Tensor histogram_float(torch::Tensor x) {
    auto bins = torch::zeros({64}, x.options().dtype(torch::kInt32));
    histogram_float_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), bins.data_ptr<int>(), x.numel());
    return bins;
}
"""

cpp_source = """
torch::Tensor histogram_float(torch::Tensor x);
"""

histogram_of_floats_ext = load_inline(
    name="histogram_of_floats",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["histogram_float"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return histogram_of_floats_ext.histogram_float(x)
