# class: correct
# task: heat
# features: a launch per step, two buffers, pointers swapped, ends kept fixed
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <algorithm>

__global__ void heat_kernel(const float* in, float* out, int n, float k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    in += blockIdx.y * n;
    out += blockIdx.y * n;
    out[i] = (i == 0 || i == n - 1) ? in[i] : in[i] + k * (in[i - 1] - 2.0f * in[i] + in[i + 1]);
}

torch::Tensor heat(torch::Tensor x, int64_t steps, double k) {
    auto a = x.clone(), b = torch::empty_like(x);
    int n = x.size(1);
    float *from = a.data_ptr<float>(), *to = b.data_ptr<float>();
    for (int64_t s = 0; s < steps; ++s) {
        heat_kernel<<<dim3((n + 63) / 64, x.size(0)), 64>>>(from, to, n, (float)k);
        std::swap(from, to);
    }
    return from == a.data_ptr<float>() ? a : b;
}
"""

cpp_source = """
torch::Tensor heat(torch::Tensor x, int64_t steps, double k);
"""

heat_ping_pong_ext = load_inline(
    name="heat_ping_pong",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["heat"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return heat_ping_pong_ext.heat(x, 8, 0.2)
