# class: correct
# task: batch_norm_inference
# features: buffers running_mean and running_var of a BatchNorm2d, folded scale and shift
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void bn_kernel(const float* x, const float* mean, const float* var, const float* w, const float* b, float* y, int channels, int plane, float eps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int c = (i / plane) % channels;
        float scale = w[c] * rsqrtf(var[c] + eps);
        y[i] = (x[i] - mean[c]) * scale + b[c];
    }
}

torch::Tensor batch_norm(torch::Tensor x, torch::Tensor mean, torch::Tensor var, torch::Tensor w, torch::Tensor b, double eps) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    bn_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), mean.data_ptr<float>(), var.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
                                        y.data_ptr<float>(), x.size(1), x.size(2) * x.size(3), eps, n);
    return y;
}
"""

cpp_source = """
torch::Tensor batch_norm(torch::Tensor x, torch::Tensor mean, torch::Tensor var, torch::Tensor w, torch::Tensor b, double eps);
"""

batch_norm_buffers_ext = load_inline(
    name="batch_norm_buffers",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["batch_norm"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.bn = nn.BatchNorm2d(channels)

    def forward(self, x):
        bn = self.bn
        return batch_norm_buffers_ext.batch_norm(x, bn.running_mean, bn.running_var, bn.weight, bn.bias, bn.eps)
