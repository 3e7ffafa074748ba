# class: correct
# task: kl
# features: two log-softmaxes of a row and their divergence, struct of sums returned by a device function
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = '''
#include <torch/extension.h>

struct RowStats {
    float max, log_sum;
};

__device__ RowStats stats(const float* p, int n) {
    float m = -INFINITY, s = 0.f;
    for (int c = threadIdx.x; c < n; c += 32) m = fmaxf(m, p[c]);
#pragma unroll
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o));
    for (int c = threadIdx.x; c < n; c += 32) s += expf(p[c] - m);
#pragma unroll
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
    return {m, logf(s)};
}

__global__ void kl_kernel(const float* x, const float* y, float* rows, int n) {
    const float *p = x + blockIdx.x * n, *q = y + blockIdx.x * n;
    RowStats sp = stats(p, n), sq = stats(q, n);
    float acc = 0.f;
    for (int c = threadIdx.x; c < n; c += 32) {
        float lq = q[c] - sq.max - sq.log_sum, lp = p[c] - sp.max - sp.log_sum;
        acc += expf(lq) * (lq - lp);
    }
    for (int o = 16; o; o >>= 1) acc += __shfl_xor_sync(0xffffffffu, acc, o);
    if (threadIdx.x == 0) rows[blockIdx.x] = acc;
}

__global__ void mean_kernel(const float* rows, float* out, int n) {
    float acc = 0.f;
    for (int i = 0; i < n; ++i) acc += rows[i];
    out[0] = acc / n;
}

torch::Tensor kl_div(torch::Tensor x, torch::Tensor y) {
    auto rows = torch::empty({x.size(0)}, x.options());
    auto out = torch::empty({}, x.options());
    kl_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows.data_ptr<float>(), x.size(1));
    mean_kernel<<<1, 1>>>(rows.data_ptr<float>(), out.data_ptr<float>(), x.size(0));
    return out;
}
'''

cpp_src = "torch::Tensor kl_div(torch::Tensor x, torch::Tensor y);"

module = load_inline(
    name="kl_two_softmaxes",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["kl_div"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return module.kl_div(x, y)
