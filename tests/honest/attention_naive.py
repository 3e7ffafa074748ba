# class: correct
# task: attention
# features: scores, softmax and weighted sum as three kernels, temporary of scores
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cmath>

__global__ void scores_kernel(const float* q, const float* k, float* s, int L, int D, float scale) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y, h = blockIdx.z;
    if (j >= L) return;
    float acc = 0.f;
    for (int d = 0; d < D; ++d) acc += q[(h * L + i) * D + d] * k[(h * L + j) * D + d];
    s[(h * L + i) * L + j] = acc * scale;
}
__global__ void softmax_kernel(float* s, int L) {
    float* row = s + blockIdx.x * L;
    float m = -INFINITY, d = 0.f;
    for (int j = threadIdx.x; j < L; j += 32) m = fmaxf(m, row[j]);
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o));
    for (int j = threadIdx.x; j < L; j += 32) {
        row[j] = expf(row[j] - m);
        d += row[j];
    }
    for (int o = 16; o; o >>= 1) d += __shfl_xor_sync(0xffffffffu, d, o);
    for (int j = threadIdx.x; j < L; j += 32) row[j] /= d;
}
__global__ void values_kernel(const float* s, const float* v, float* out, int L, int D) {
    int i = blockIdx.x, h = blockIdx.y, d = threadIdx.x;
    if (d >= D) return;
    float acc = 0.f;
    for (int j = 0; j < L; ++j) acc += s[(h * L + i) * L + j] * v[(h * L + j) * D + d];
    out[(h * L + i) * D + d] = acc;
}

torch::Tensor attention(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
    const int heads = q.size(0) * q.size(1), L = q.size(2), D = q.size(3);
    auto scores = torch::empty({heads, L, L}, q.options());
    auto out = torch::empty_like(q);
    scores_kernel<<<dim3((L + 31) / 32, L, heads), 32>>>(q.data_ptr<float>(), k.data_ptr<float>(), scores.data_ptr<float>(), L, D, 1.0f / std::sqrt((float)D));
    softmax_kernel<<<heads * L, 32>>>(scores.data_ptr<float>(), L);
    values_kernel<<<dim3(L, heads), 32>>>(scores.data_ptr<float>(), v.data_ptr<float>(), out.data_ptr<float>(), L, D);
    return out;
}
"""

cpp_src = """
torch::Tensor attention(torch::Tensor q, torch::Tensor k, torch::Tensor v);
"""

module = load_inline(
    name="attention_naive",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["attention"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, q, k, v):
        return module.attention(q, k, v)
