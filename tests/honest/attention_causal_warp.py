# class: correct
# task: attention_causal
# features: causal mask, warp per query, lane per head dimension, scores by shuffled sums
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

__global__ void causal_kernel(const float* q, const float* k, const float* v, float* o, int L, int queries) {
    const int query = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    if (query >= queries) return;
    const int head = query / L, i = query % L;
    const float mine = q[query * 32 + lane] * rsqrtf(32.0f);
    float m = -INFINITY, sum = 0.f, acc = 0.f;
    for (int j = 0; j <= i; ++j) {
        float s = mine * k[(head * L + j) * 32 + lane];
#pragma unroll
        for (int b = 16; b; b >>= 1) s += __shfl_xor_sync(0xffffffffu, s, b);
        const float next = fmaxf(m, s);
        const float scale = __expf(m - next), p = __expf(s - next);
        sum = sum * scale + p;
        acc = acc * scale + p * v[(head * L + j) * 32 + lane];
        m = next;
    }
    o[query * 32 + lane] = acc / sum;
}

torch::Tensor causal_attention(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
    TORCH_CHECK(q.size(3) == 32);
    auto o = torch::empty_like(q);
    const int queries = q.size(0) * q.size(1) * q.size(2);
    causal_kernel<<<(queries + 3) / 4, dim3(32, 4)>>>(q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(), o.data_ptr<float>(), q.size(2), queries);
    return o;
}
"""

cpp_src = """
torch::Tensor causal_attention(torch::Tensor q, torch::Tensor k, torch::Tensor v);
"""

module = load_inline(
    name="attention_causal_warp",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["causal_attention"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, q, k, v):
        return module.causal_attention(q, k, v)
