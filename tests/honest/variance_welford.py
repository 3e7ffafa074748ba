# class: correct
# task: variance
# features: Welford and its merge over shuffles, two outputs
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

struct Welford {
    float mean, m2, n;
};

__device__ Welford merge(Welford a, Welford b) {
    float n = a.n + b.n;
    if (n == 0.f) return a;
    float d = b.mean - a.mean;
    return {a.mean + d * b.n / n, a.m2 + b.m2 + d * d * a.n * b.n / n, n};
}

__global__ void welford_kernel(const float* x, float* var, float* mean, int cols) {
    Welford w = {0.f, 0.f, 0.f};
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float v = x[blockIdx.x * cols + c];
        w.n += 1.f;
        float d = v - w.mean;
        w.mean += d / w.n;
        w.m2 += d * (v - w.mean);
    }
    for (int o = 16; o; o >>= 1) {
        Welford other;
        other.mean = __shfl_down_sync(0xffffffff, w.mean, o);
        other.m2 = __shfl_down_sync(0xffffffff, w.m2, o);
        other.n = __shfl_down_sync(0xffffffff, w.n, o);
        w = merge(w, other);
    }
    __shared__ Welford parts[8];
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = w;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < blockDim.x / 32; ++k) w = merge(w, parts[k]);
        var[blockIdx.x] = w.m2 / (w.n - 1.f);
        mean[blockIdx.x] = w.mean;
    }
}

std::vector<torch::Tensor> var_mean(torch::Tensor x) {
    auto var = torch::empty({x.size(0)}, x.options()), mean = torch::empty({x.size(0)}, x.options());
    welford_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), var.data_ptr<float>(), mean.data_ptr<float>(), x.size(1));
    return {var, mean};
}
"""

cpp_source = """
std::vector<torch::Tensor> var_mean(torch::Tensor x);
"""

variance_welford_ext = load_inline(
    name="variance_welford",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["var_mean"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return variance_welford_ext.var_mean(x)
