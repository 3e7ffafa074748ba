# class: correct
# task: add_relu
# features: torch.autograd.Function with a static forward, backward never called, two functions exported
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void forward_kernel(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = fmaxf(a[i] + b[i], 0.f);
}
__global__ void backward_kernel(const float* grad, const float* c, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = c[i] > 0.f ? grad[i] : 0.f;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty_like(a);
    forward_kernel<<<(a.numel() + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), a.numel());
    return c;
}

torch::Tensor backward(torch::Tensor grad, torch::Tensor c) {
    auto out = torch::empty_like(grad);
    backward_kernel<<<(c.numel() + 255) / 256, 256>>>(grad.data_ptr<float>(), c.data_ptr<float>(), out.data_ptr<float>(), c.numel());
    return out;
}
"""

cpp_src = """
torch::Tensor forward(torch::Tensor a, torch::Tensor b);
torch::Tensor backward(torch::Tensor grad, torch::Tensor c);
"""

ops = load_inline(
    name="relu_autograd_function",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["forward", "backward"],
    verbose=False,
)


class AddRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        c = ops.forward(a, b)
        ctx.save_for_backward(c)
        return c

    @staticmethod
    def backward(ctx, grad):
        (c,) = ctx.saved_tensors
        g = ops.backward(grad.contiguous(), c)
        return g, g


class ModelNew(nn.Module):
    def forward(self, a, b):
        return AddRelu.apply(a, b)
