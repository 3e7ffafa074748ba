# class: correct
# task: add_relu
# features: PYBIND11_MODULE of its own, py::arg with defaults, docstring
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda = """
#include <torch/extension.h>

__global__ void add_leaky(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, float slope, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float s = a[i] + b[i];
        c[i] = s >= 0.f ? s : slope * s;
    }
}

torch::Tensor add_activation(torch::Tensor a, torch::Tensor b, double slope) {
    auto c = torch::empty_like(a);
    const int n = a.numel();
    add_leaky<<<(n + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), (float)slope, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.doc() = "addition with an activation";
    m.def("forward", &add_activation, "add and activate", py::arg("a"), py::arg("b"), py::arg("slope") = 0.0);
}
"""

module = load_inline(name="add_relu_pybind", cpp_sources="", cuda_sources=cuda, verbose=False)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return module.forward(a, b)
