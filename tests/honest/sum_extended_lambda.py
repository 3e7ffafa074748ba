# class: correct
# task: sum_of_four
# features: extended __device__ lambda with captures passed to a template kernel
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>

template <typename F>
__global__ void for_each_kernel(int n, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) f(i);
}

torch::Tensor sum4_lambda(torch::Tensor a, torch::Tensor b, torch::Tensor c, torch::Tensor d) {
    auto out = torch::empty_like(a);
    const float *pa = a.data_ptr<float>(), *pb = b.data_ptr<float>(), *pc = c.data_ptr<float>(), *pd = d.data_ptr<float>();
    float* po = out.data_ptr<float>();
    const int n = a.numel();
    for_each_kernel<<<(n + 127) / 128, 128>>>(n, [=] __device__(int i) { po[i] = pa[i] + pb[i] + pc[i] + pd[i]; });
    return out;
}
"""

CPP_SRC = "torch::Tensor sum4_lambda(torch::Tensor a, torch::Tensor b, torch::Tensor c, torch::Tensor d);"

_ext = load_inline(
    name="sum_extended_lambda",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["sum4_lambda"],
    extra_cuda_cflags=["--extended-lambda", "-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b, c, d):
        return _ext.sum4_lambda(a, b, c, d)
