# class: correct
# task: int_div_mod
# features: signed integer division and modulo, floor correction, int tensors
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <vector>

__global__ void divide_kernel(const int* x, const int* y, int* q, int* r, int* f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int a = x[i], b = y[i];
    int quotient = a / b, rest = a % b;
    q[i] = quotient;
    r[i] = rest;
    f[i] = (rest != 0 && ((rest < 0) != (b < 0))) ? quotient - 1 : quotient;
}

std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> divide(torch::Tensor x, torch::Tensor y) {
    auto q = torch::empty_like(x), r = torch::empty_like(x), f = torch::empty_like(x);
    int n = x.numel();
    divide_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<int>(), y.data_ptr<int>(), q.data_ptr<int>(), r.data_ptr<int>(), f.data_ptr<int>(), n);
    return {q, r, f};
}
"""

cpp_src = "std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> divide(torch::Tensor x, torch::Tensor y);"

ops = load_inline(
    name="int_division",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["divide"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return ops.divide(x, y)
