# class: correct
# task: linear
# features: nn.Linear's parameters in a fused kernel, c10::optional bias
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void linear_relu_kernel(const float* x, const float* w, const float* bias, float* y, int batch, int in, int out) {
    int o = blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y;
    if (o >= out) return;
    float acc = bias != nullptr ? bias[o] : 0.0f;
    for (int i = 0; i < in; ++i) acc += x[b * in + i] * w[o * in + i];
    y[b * out + o] = acc > 0.0f ? acc : 0.0f;
}

torch::Tensor linear_relu(torch::Tensor x, torch::Tensor weight, c10::optional<torch::Tensor> bias) {
    int batch = x.size(0), in = x.size(1), out = weight.size(0);
    auto y = torch::empty({batch, out}, x.options());
    const float* b = bias.has_value() ? bias.value().data_ptr<float>() : nullptr;
    linear_relu_kernel<<<dim3((out + 31) / 32, batch), 32>>>(x.data_ptr<float>(), weight.data_ptr<float>(), b, y.data_ptr<float>(), batch, in, out);
    return y;
}
"""

cpp_src = "torch::Tensor linear_relu(torch::Tensor x, torch::Tensor weight, c10::optional<torch::Tensor> bias);"

ops = load_inline(
    name="linear_relu_fused",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["linear_relu"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return ops.linear_relu(x, self.linear.weight, self.linear.bias)
