# class: correct
# task: activations
# features: several outputs in one pass, std::vector<torch::Tensor> returned, expm1f
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <vector>

__global__ void activations_kernel(const float* x, float* elu, float* hardswish, float* softplus, float* silu, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    elu[i] = v > 0.f ? v : expm1f(v);
    hardswish[i] = v * fminf(fmaxf(v + 3.f, 0.f), 6.f) / 6.f;
    softplus[i] = v > 20.f ? v : log1pf(expf(v));
    silu[i] = v / (1.f + expf(-v));
}

std::vector<torch::Tensor> activations(torch::Tensor x) {
    std::vector<torch::Tensor> out;
    for (int k = 0; k < 4; ++k) out.push_back(torch::empty_like(x));
    int n = x.numel();
    activations_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), out[0].data_ptr<float>(), out[1].data_ptr<float>(),
                                                 out[2].data_ptr<float>(), out[3].data_ptr<float>(), n);
    return out;
}
"""

cpp_source = """
std::vector<torch::Tensor> activations(torch::Tensor x);
"""

activations_tuple_ext = load_inline(
    name="activations_tuple",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["activations"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        elu, hardswish, softplus, silu = activations_tuple_ext.activations(x)
        return elu, hardswish, softplus, silu
