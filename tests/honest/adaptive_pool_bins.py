# class: correct
# task: adaptive_pool
# features: bins from floor and ceil as torch has them
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = '''
#include <torch/extension.h>

__device__ __forceinline__ int bin_begin(int o, int out, int in) { return (o * in) / out; }
__device__ __forceinline__ int bin_end(int o, int out, int in) { return ((o + 1) * in + out - 1) / out; }

__global__ void adaptive_kernel(const float* x, float* y, int H, int W, int OH, int OW, int total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int ow = i % OW, oh = i / OW % OH, plane = i / (OW * OH);
    int h0 = bin_begin(oh, OH, H), h1 = bin_end(oh, OH, H), w0 = bin_begin(ow, OW, W), w1 = bin_end(ow, OW, W);
    float acc = 0.f;
    for (int h = h0; h < h1; ++h)
        for (int w = w0; w < w1; ++w) acc += x[(plane * H + h) * W + w];
    y[i] = acc / ((h1 - h0) * (w1 - w0));
}

torch::Tensor adaptive_avg_pool(torch::Tensor x, int64_t oh, int64_t ow) {
    auto y = torch::empty({x.size(0), x.size(1), oh, ow}, x.options());
    int total = y.numel();
    adaptive_kernel<<<(total + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(2), x.size(3), oh, ow, total);
    return y;
}
'''

cpp_source = '''
torch::Tensor adaptive_avg_pool(torch::Tensor x, int64_t oh, int64_t ow);
'''

adaptive_pool_bins_ext = load_inline(
    name="adaptive_pool_bins",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["adaptive_avg_pool"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return adaptive_pool_bins_ext.adaptive_avg_pool(x, 5, 4)
