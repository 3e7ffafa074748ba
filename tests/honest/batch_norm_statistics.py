# class: correct
# task: batch_norm_batch
# features: block per channel over batch and plane, statistics then normalisation in one kernel
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>

template <unsigned BLOCK>
__device__ float reduce(float v) {
    __shared__ float s[BLOCK];
    s[threadIdx.x] = v;
    __syncthreads();
    for (unsigned k = BLOCK / 2; k > 0; k >>= 1) {
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    float r = s[0];
    __syncthreads();
    return r;
}

template <unsigned BLOCK>
__global__ void bn_train_kernel(const float* x, const float* w, const float* b, float* y, int batch, int channels, int plane, float eps) {
    int c = blockIdx.x, count = batch * plane;
    float acc = 0.f;
    for (int i = threadIdx.x; i < count; i += BLOCK) acc += x[((i / plane) * channels + c) * plane + i % plane];
    float mean = reduce<BLOCK>(acc) / count;
    acc = 0.f;
    for (int i = threadIdx.x; i < count; i += BLOCK) {
        float d = x[((i / plane) * channels + c) * plane + i % plane] - mean;
        acc += d * d;
    }
    float scale = w[c] / sqrtf(reduce<BLOCK>(acc) / count + eps);
    for (int i = threadIdx.x; i < count; i += BLOCK) {
        int at = ((i / plane) * channels + c) * plane + i % plane;
        y[at] = (x[at] - mean) * scale + b[c];
    }
}

torch::Tensor batch_norm_train(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    auto y = torch::empty_like(x);
    bn_train_kernel<128><<<x.size(1), 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(),
                                             x.size(0), x.size(1), x.size(2) * x.size(3), 1e-5f);
    return y;
}
"""

CPP_SRC = "torch::Tensor batch_norm_train(torch::Tensor x, torch::Tensor w, torch::Tensor b);"

_ext = load_inline(
    name="batch_norm_statistics",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["batch_norm_train"],
)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(channels) + 0.5)
        self.bias = nn.Parameter(torch.randn(channels))

    def forward(self, x):
        return _ext.batch_norm_train(x, self.weight, self.bias)
