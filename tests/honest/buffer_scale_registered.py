# class: correct
# task: buffer_scale
# features: register_buffer and parameter in a kernel, output allocated in Python with device=x.device, torch.cuda guards
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void scale_tanh_kernel(const float* x, const float* scale, const float* bias, float* y, int cols, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = tanhf(x[i] * scale[i % cols] + bias[i % cols]);
}

void scale_tanh_out(torch::Tensor x, torch::Tensor scale, torch::Tensor bias, torch::Tensor y) {
    TORCH_CHECK(y.numel() == x.numel(), "output of another size");
    int n = x.numel();
    scale_tanh_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), scale.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), x.size(1), n);
}
"""

cpp_source = """
void scale_tanh_out(torch::Tensor x, torch::Tensor scale, torch::Tensor bias, torch::Tensor y);
"""

buffer_scale_registered_ext = load_inline(
    name="buffer_scale_registered",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["scale_tanh_out"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.register_buffer("scale", torch.rand(width) + 0.5)
        self.bias = nn.Parameter(torch.randn(width))

    @torch.no_grad()
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert x.is_cuda and x.dtype == torch.float32, "a float32 CUDA tensor is expected"
        out = torch.empty(x.shape, device=x.device, dtype=x.dtype)
        buffer_scale_registered_ext.scale_tanh_out(x.contiguous(), self.scale, self.bias, out)
        return out
