# class: correct
# task: power_tree
# features: products over groups of eight lanes, __shfl_xor_sync with width, templates of the width
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

template <int WIDTH>
__device__ float group_product_of(float v) {
#pragma unroll
    for (int o = WIDTH / 2; o > 0; o /= 2) v *= __shfl_xor_sync(0xffffffffu, v, o, WIDTH);
    return v;
}

__global__ void group_product_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] : 1.0f;
    v = group_product_of<8>(v);
    if (i < n && threadIdx.x % 8 == 0) y[i / 8] = v;
}

torch::Tensor group_product(torch::Tensor x) {
    auto y = torch::empty({x.numel() / 8}, x.options());
    group_product_kernel<<<(x.numel() + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

cpp_source = """
torch::Tensor group_product(torch::Tensor x);
"""

product_shuffle_groups_ext = load_inline(
    name="product_shuffle_groups",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["group_product"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return product_shuffle_groups_ext.group_product(x)
