# class: correct
# task: attention
# features: flash-like: tiles of keys and values in shared memory, online softmax, thread per query
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

template <int D, int TILE>
__global__ void flash_kernel(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V, float* __restrict__ O, int L, float scale) {
    __shared__ float ks[TILE][D];
    __shared__ float vs[TILE][D];
    const int head = blockIdx.y, i = blockIdx.x * blockDim.x + threadIdx.x;
    const float* k = K + head * L * D;
    const float* v = V + head * L * D;
    float q[D], acc[D];
    float m = -INFINITY, l = 0.f;
#pragma unroll
    for (int d = 0; d < D; ++d) {
        q[d] = i < L ? Q[(head * L + i) * D + d] * scale : 0.f;
        acc[d] = 0.f;
    }
    for (int j0 = 0; j0 < L; j0 += TILE) {
        const int count = min(TILE, L - j0);
        for (int e = threadIdx.x; e < count * D; e += blockDim.x) {
            ks[e / D][e % D] = k[j0 * D + e];
            vs[e / D][e % D] = v[j0 * D + e];
        }
        __syncthreads();
        for (int j = 0; j < count; ++j) {
            float s = 0.f;
#pragma unroll
            for (int d = 0; d < D; ++d) s += q[d] * ks[j][d];
            const float m_new = fmaxf(m, s);
            const float shrink = expf(m - m_new), p = expf(s - m_new);
            l = l * shrink + p;
#pragma unroll
            for (int d = 0; d < D; ++d) acc[d] = acc[d] * shrink + p * vs[j][d];
            m = m_new;
        }
        __syncthreads();
    }
    if (i < L)
        for (int d = 0; d < D; ++d) O[(head * L + i) * D + d] = acc[d] / l;
}

torch::Tensor flash(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
    const int heads = q.size(0) * q.size(1), L = q.size(2), D = q.size(3);
    TORCH_CHECK(D == 24, "head size 24 expected");
    auto o = torch::empty_like(q);
    flash_kernel<24, 16><<<dim3((L + 31) / 32, heads), 32>>>(q.contiguous().data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(), o.data_ptr<float>(), L,
                                                             1.0f / sqrtf((float)D));
    return o;
}
"""

cpp_src = "torch::Tensor flash(torch::Tensor q, torch::Tensor k, torch::Tensor v);"

module = load_inline(
    name="attention_flash",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["flash"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, q, k, v):
        return module.flash(q, k, v)
