# class: correct
# task: cross_product
# features: float3 structures (12-byte stride), inline vector helpers, static kernel
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = '''
#include <torch/extension.h>

static __device__ __forceinline__ float3 cross(float3 a, float3 b) {
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

static __global__ void cross_kernel(const float3* a, const float3* b, float3* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = cross(a[i], b[i]);
}

torch::Tensor cross3(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty_like(a);
    int n = a.size(0);
    cross_kernel<<<(n + 127) / 128, 128>>>((const float3*)a.data_ptr<float>(), (const float3*)b.data_ptr<float>(), (float3*)c.data_ptr<float>(), n);
    return c;
}
'''

cpp_src = '''
torch::Tensor cross3(torch::Tensor a, torch::Tensor b);
'''

ops = load_inline(
    name="cross_product_float3",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["cross3"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return ops.cross3(a, b)
