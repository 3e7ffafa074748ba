# class: correct
# task: strided_scale
# features: float2 loads with a scalar rest, output permuted and made contiguous in Python
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void scale_rows_kernel(const float2* x, float2* y, int n2, const float* rest_in, float* rest_out, int rest) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n2) {
        float2 v = x[i];
        y[i] = make_float2(fmaf(2.0f, v.x, 1.0f), fmaf(2.0f, v.y, 1.0f));
    }
    if (i < rest) rest_out[i] = fmaf(2.0f, rest_in[i], 1.0f);
}

torch::Tensor scale_rows(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel(), n2 = n / 2;
    scale_rows_kernel<<<(n2 + 127) / 128, 128>>>((const float2*)x.data_ptr<float>(), (float2*)y.data_ptr<float>(), n2, x.data_ptr<float>() + 2 * n2,
                                               y.data_ptr<float>() + 2 * n2, n - 2 * n2);
    return y;
}
"""

cpp_source = "torch::Tensor scale_rows(torch::Tensor x);"

strided_output_contiguous_ext = load_inline(
    name="strided_output_contiguous",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["scale_rows"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return strided_output_contiguous_ext.scale_rows(x).permute(1, 0).contiguous()
