# class: correct
# task: math_mix
# features: std:: and overloaded names (lgamma, erfc, pow, hypot) on float, template on the scalar type, switch on blockIdx.y
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>
#include <cmath>

template <typename T>
__device__ T evaluate(int which, T a, T b) {
    const T p = abs(a) + T(0.5);
    switch (which) {
        case 0: return lgamma(p);
        case 1: return erfc(a);
        case 2: return atan2(a, b);
        case 3: return hypot(a, b);
        case 4: return asinh(a);
        case 5: return pow(p, b);
        case 6: return log1p(p);
        default: return atan(a * b);
    }
}

template <typename scalar_t>
__global__ void overloads_kernel(const scalar_t* x, const scalar_t* y, scalar_t* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[blockIdx.y * n + i] = evaluate<scalar_t>(blockIdx.y, x[i], y[i]);
}

torch::Tensor math_overloads(torch::Tensor x, torch::Tensor y) {
    const int n = x.numel();
    auto out = torch::empty({8, n}, x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "math_overloads", [&] {
        overloads_kernel<scalar_t><<<dim3((n + 255) / 256, 8), 256>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), n);
    });
    return out;
}
"""

cpp_src = """
torch::Tensor math_overloads(torch::Tensor x, torch::Tensor y);
"""

module = load_inline(
    name="math_functions_overloads",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["math_overloads"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return module.math_overloads(x, y)
