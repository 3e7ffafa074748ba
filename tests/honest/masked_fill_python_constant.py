# class: correct
# task: masked_fill
# features: torch.tensor(..., device="cuda") constants read by the kernel, created in __init__
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

__global__ void masked_affine_kernel(const float* x, const bool* mask, const float* constants, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        if (mask[i]) v = constants[0];
        y[i] = v * constants[1];
    }
}

torch::Tensor masked_affine(torch::Tensor x, torch::Tensor mask, torch::Tensor constants) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    masked_affine_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), mask.data_ptr<bool>(), constants.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

cpp_src = "torch::Tensor masked_affine(torch::Tensor x, torch::Tensor mask, torch::Tensor constants);"

module = load_inline(
    name="masked_fill_python_constant",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["masked_affine"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.constants = torch.tensor([-1.0, 3.0], dtype=torch.float32, device="cuda")

    def forward(self, x, mask):
        return module.masked_affine(x, mask, self.constants)
