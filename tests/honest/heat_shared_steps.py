# class: correct
# task: heat
# features: all steps in one block, static shared double buffer, barrier between steps
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void heat_fused_kernel(const float* x, float* y, int n) {
    __shared__ float u[2][256];
    const int i = threadIdx.x;
    if (i < n) u[0][i] = x[blockIdx.x * n + i];
    __syncthreads();
#pragma unroll
    for (int s = 0; s < 8; ++s) {
        const float* in = u[s & 1];
        float* out = u[(s + 1) & 1];
        if (i < n) out[i] = (i > 0 && i < n - 1) ? fmaf(0.2f, in[i - 1] - 2.0f * in[i] + in[i + 1], in[i]) : in[i];
        __syncthreads();
    }
    if (i < n) y[blockIdx.x * n + i] = u[0][i];
}

torch::Tensor heat_fused(torch::Tensor x) {
    TORCH_CHECK(x.size(1) <= 256);
    auto y = torch::empty_like(x);
    heat_fused_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

cpp_source = "torch::Tensor heat_fused(torch::Tensor x);"

heat_shared_steps_ext = load_inline(
    name="heat_shared_steps",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["heat_fused"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return heat_shared_steps_ext.heat_fused(x)
