# class: correct
# task: logsumexp
# features: two passes over a row, max then sum, warp per row
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r'''
#include <torch/extension.h>

__global__ void lse_kernel(const float* x, float* y, int rows, int cols) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    const float* p = x + row * cols;
    float m = -INFINITY;
    for (int c = threadIdx.x; c < cols; c += 32) m = fmaxf(m, p[c]);
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o));
    float s = 0.f;
    for (int c = threadIdx.x; c < cols; c += 32) s += expf(p[c] - m);
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
    if (threadIdx.x == 0) y[row] = m + logf(s);
}

torch::Tensor logsumexp(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    dim3 block(32, 4);
    lse_kernel<<<(x.size(0) + 3) / 4, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
'''

cpp_src = "torch::Tensor logsumexp(torch::Tensor x);"

ops = load_inline(
    name="logsumexp_rows",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["logsumexp"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.logsumexp(x)
