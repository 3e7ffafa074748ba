# class: correct
# task: add_relu
# features: several cpp_sources and cuda_sources as lists, helper shared through a declaration
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

kernel_part = """
__global__ void add_relu_kernel(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float s = a[i] + b[i];
        c[i] = s > 0.0f ? s : 0.0f;
    }
}
"""
launch_part = """
void launch_add_relu(const float* a, const float* b, float* c, int n) {
    const int threads = 256;
    add_relu_kernel<<<(n + threads - 1) / threads, threads>>>(a, b, c, n);
}
"""
host_part = """
#include <torch/extension.h>
void launch_add_relu(const float* a, const float* b, float* c, int n);

static void check(const torch::Tensor& t, const char* name) {
    TORCH_CHECK(t.is_cuda(), name, " must live on the GPU");
    TORCH_CHECK(t.is_contiguous(), name, " must be contiguous");
}

torch::Tensor add_relu(torch::Tensor a, torch::Tensor b) {
    check(a, "a");
    check(b, "b");
    TORCH_CHECK(a.sizes() == b.sizes(), "sizes differ: ", a.sizes(), " and ", b.sizes());
    torch::Tensor c = torch::empty_like(a);
    launch_add_relu(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), static_cast<int>(a.numel()));
    return c;
}
"""

extension = load_inline(
    name="add_relu_lists",
    cpp_sources=[host_part],
    cuda_sources=[kernel_part, launch_part],
    functions=["add_relu"],
    with_cuda=True,
    extra_cflags=["-O2"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self) -> None:
        super().__init__()

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return extension.add_relu(a.contiguous(), b.contiguous())
