# class: correct
# task: softmax
# features: framework call in a branch never taken, is_cuda and dtype tests, Python fallback never taken
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = '''
#include <torch/extension.h>

__global__ void softmax_rows(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const float* p = x + r * cols;
    float m = p[0];
    for (int c = 1; c < cols; ++c) m = fmaxf(m, p[c]);
    float s = 0.f;
    for (int c = 0; c < cols; ++c) s += expf(p[c] - m);
    for (int c = 0; c < cols; ++c) y[r * cols + c] = expf(p[c] - m) / s;
}

torch::Tensor softmax_or_fallback(torch::Tensor x) {
    if (!x.is_cuda() || x.scalar_type() != torch::kFloat32) {
        return torch::softmax(x, -1);
    }
    if (!x.is_contiguous()) x = x.contiguous();
    auto y = torch::empty_like(x);
    softmax_rows<<<(x.size(0) + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
'''

cpp_src = '''
torch::Tensor softmax_or_fallback(torch::Tensor x);
'''

module = load_inline(
    name="softmax_fallback_never",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["softmax_or_fallback"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        if not x.is_cuda or x.dim() != 2:
            return torch.softmax(x, dim=-1)
        return module.softmax_or_fallback(x)
