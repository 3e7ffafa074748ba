# class: correct
# task: int_div_mod
# features: division through double quotient and correction, int64 intermediates
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__device__ int trunc_div(int a, int b) {
    long long q = __double2ll_rz(__ll2double_rn(a) / __ll2double_rn(b));
    long long rest = (long long)a - q * b;
    if (rest != 0 && ((rest < 0) != (a < 0))) q += (a < 0) != (b < 0) ? 1 : -1;
    return (int)q;
}

__global__ void divide3_kernel(const int32_t* __restrict__ x, const int32_t* __restrict__ y, int32_t* __restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int q = trunc_div(x[i], y[i]);
        int r = x[i] - q * y[i];
        out[i] = q;
        out[n + i] = r;
        out[2 * n + i] = r < 0 ? q - 1 : q;  // divisors are positive
    }
}

torch::Tensor divide3(torch::Tensor x, torch::Tensor y) {
    auto out = torch::empty({3, x.size(0)}, x.options());
    int n = x.size(0);
    divide3_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<int32_t>(), y.data_ptr<int32_t>(), out.data_ptr<int32_t>(), n);
    return out;
}
"""

cpp_src = """
torch::Tensor divide3(torch::Tensor x, torch::Tensor y);
"""

ops = load_inline(
    name="int_division_by_float",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["divide3"],
    verbose=False,
)


class ModelNew(nn.Module):
    def forward(self, x, y):
        return ops.divide3(x, y).unbind(0)
