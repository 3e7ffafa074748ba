# class: correct
# task: add_relu
# features: in-place work on a clone of an input, void extension function
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void add_relu_inplace(float* a, const float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float s = a[i] + b[i];
        a[i] = s > 0 ? s : 0;
    }
}

void add_relu_(torch::Tensor a, torch::Tensor b) {
    int n = a.numel();
    add_relu_inplace<<<(n + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), n);
}
"""

cpp_source = "void add_relu_(torch::Tensor a, torch::Tensor b);"

add_relu_inplace_clone_ext = load_inline(
    name="add_relu_inplace_clone",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["add_relu_"],
)


class ModelNew(nn.Module):
    def forward(self, x, y):
        out = x.clone()
        add_relu_inplace_clone_ext.add_relu_(out, y)
        return out
