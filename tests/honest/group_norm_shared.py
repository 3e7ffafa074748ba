# class: correct
# task: group_norm
# features: group held in dynamic shared memory carved into two arrays
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__global__ void group_norm_kernel(const float* x, const float* w, const float* b, float* y, int groups, int channels, int plane, float eps) {
    extern __shared__ unsigned char raw[];
    const int per_group = channels / groups, count = per_group * plane;
    float* values = reinterpret_cast<float*>(raw);
    float* sums = values + count;
    const int n = blockIdx.x / groups, g = blockIdx.x % groups;
    const int base = (n * channels + g * per_group) * plane;
    float acc = 0.f;
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        values[i] = x[base + i];
        acc += values[i];
    }
    sums[threadIdx.x] = acc;
    __syncthreads();
    if (threadIdx.x == 0) {
        float t = 0.f;
        for (int i = 0; i < blockDim.x; ++i) t += sums[i];
        sums[0] = t / count;
    }
    __syncthreads();
    const float mean = sums[0];
    __syncthreads();
    acc = 0.f;
    for (int i = threadIdx.x; i < count; i += blockDim.x) acc += (values[i] - mean) * (values[i] - mean);
    sums[threadIdx.x] = acc;
    __syncthreads();
    if (threadIdx.x == 0) {
        float t = 0.f;
        for (int i = 0; i < blockDim.x; ++i) t += sums[i];
        sums[0] = rsqrtf(t / count + eps);
    }
    __syncthreads();
    const float rstd = sums[0];
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        const int c = g * per_group + i / plane;
        y[base + i] = (values[i] - mean) * rstd * w[c] + b[c];
    }
}

torch::Tensor group_norm(torch::Tensor x, torch::Tensor w, torch::Tensor b, int64_t groups, double eps) {
    auto y = torch::empty_like(x);
    const int plane = x.size(2) * x.size(3), count = x.size(1) / groups * plane, threads = 64;
    group_norm_kernel<<<x.size(0) * groups, threads, (count + threads) * sizeof(float)>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), groups, x.size(1), plane, eps);
    return y;
}
"""

CPP_SRC = """
torch::Tensor group_norm(torch::Tensor x, torch::Tensor w, torch::Tensor b, int64_t groups, double eps);
"""

_ext = load_inline(
    name="group_norm_shared",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["group_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.gn = nn.GroupNorm(groups, channels)

    def forward(self, x):
        return _ext.group_norm(x, self.gn.weight, self.gn.bias, self.gn.num_groups, self.gn.eps)
