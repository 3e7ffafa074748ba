# class: correct
# task: group_norm
# features: two kernels: statistics as float2 per group, then normalisation through __ldg
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = '''
#include <torch/extension.h>

__global__ void stats_kernel(const float* x, float2* stats, int count, float eps) {
    double s = 0.0, q = 0.0;
    for (int i = threadIdx.x; i < count; i += 32) {
        const double v = x[blockIdx.x * count + i];
        s += v;
        q += v * v;
    }
    for (int o = 16; o; o >>= 1) {
        s += __shfl_xor_sync(0xffffffffu, s, o);
        q += __shfl_xor_sync(0xffffffffu, q, o);
    }
    if (threadIdx.x == 0) {
        const double mean = s / count;
        stats[blockIdx.x] = make_float2((float)mean, (float)rsqrt(q / count - mean * mean + (double)eps));
    }
}

__global__ void apply_kernel(const float* x, const float2* stats, const float* w, const float* b, float* y, int channels, int per_group, int plane, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float2 s = __ldg(&stats[i / (per_group * plane)]);
    const int c = i / plane % channels;
    y[i] = (x[i] - s.x) * s.y * __ldg(w + c) + __ldg(b + c);
}

torch::Tensor group_norm2(torch::Tensor x, torch::Tensor w, torch::Tensor b, int64_t groups, double eps = 1e-5) {
    auto y = torch::empty_like(x);
    const int plane = x.size(2) * x.size(3), per_group = x.size(1) / groups, n = x.numel(), all = x.size(0) * groups;
    auto stats = torch::empty({all, 2}, x.options());
    stats_kernel<<<all, 32>>>(x.data_ptr<float>(), reinterpret_cast<float2*>(stats.data_ptr<float>()), per_group * plane, eps);
    apply_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), reinterpret_cast<const float2*>(stats.data_ptr<float>()), w.data_ptr<float>(),
                                           b.data_ptr<float>(), y.data_ptr<float>(), x.size(1), per_group, plane, n);
    return y;
}
'''

cpp_src = "torch::Tensor group_norm2(torch::Tensor x, torch::Tensor w, torch::Tensor b, int64_t groups, double eps = 1e-5);"

module = load_inline(
    name="group_norm_affine_pair",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["group_norm2"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.gn = nn.GroupNorm(groups, channels)

    def forward(self, x):
        gn = self.gn
        return module.group_norm2(x, gn.weight, gn.bias, gn.num_groups, gn.eps)
