# class: correct
# task: gelu
# features: function pointers in a device table, indirect call, __device__ array of pointers
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

typedef float (*unary_fn)(float);
__device__ float identity_fn(float v) { return v; }
__device__ float relu_fn(float v) { return v > 0.0f ? v : 0.0f; }
__device__ float gelu_fn(float v) { return 0.5f * v * (1.0f + erff(v * 0.707106781186547f)); }
__device__ unary_fn table[3] = {identity_fn, relu_fn, gelu_fn};

__global__ void apply_kernel(const float* x, float* y, int which, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = table[which](x[i]);
}

torch::Tensor gelu_by_table(torch::Tensor x, int64_t which) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    apply_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), (int)which, n);
    return y;
}
"""

cpp_source = """
torch::Tensor gelu_by_table(torch::Tensor x, int64_t which);
"""

gelu_function_table_ext = load_inline(
    name="gelu_function_table",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["gelu_by_table"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return gelu_function_table_ext.gelu_by_table(x, 2)
