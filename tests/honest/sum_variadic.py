# class: correct
# task: sum_of_four
# features: variadic template kernel with a fold expression, if constexpr, -std=c++17
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r'''
#include <torch/extension.h>

template <typename... Pointers>
__global__ void sum_kernel(float* out, int n, Pointers... in) {
    static_assert(sizeof...(Pointers) > 0, "at least one operand");
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if constexpr (sizeof...(Pointers) == 1)
            ((out[i] = in[i]), ...);
        else
            out[i] = (... + in[i]);
    }
}

torch::Tensor sum4(torch::Tensor a, torch::Tensor b, torch::Tensor c, torch::Tensor d) {
    auto out = torch::empty_like(a);
    int n = a.numel();
    sum_kernel<<<(n + 127) / 128, 128>>>(out.data_ptr<float>(), n, (const float*)a.data_ptr<float>(), (const float*)b.data_ptr<float>(),
                                         (const float*)c.data_ptr<float>(), (const float*)d.data_ptr<float>());
    return out;
}
'''

cpp_source = '''
torch::Tensor sum4(torch::Tensor a, torch::Tensor b, torch::Tensor c, torch::Tensor d);
'''

sum_variadic_ext = load_inline(
    name="sum_variadic",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["sum4"],
    extra_cuda_cflags=["-O3", "-std=c++17"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b, c, d):
        return sum_variadic_ext.sum4(a, b, c, d)
