# class: correct
# task: mlp
# features: Sequential submodules, one kernel launched twice, activation flag
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

template <bool RELU>
__global__ void dense_kernel(const float* x, const float* w, const float* b, float* y, int in, int out) {
    extern __shared__ float row[];
    for (int i = threadIdx.x; i < in; i += blockDim.x) row[i] = x[blockIdx.x * in + i];
    __syncthreads();
    for (int o = threadIdx.x; o < out; o += blockDim.x) {
        float acc = b[o];
        for (int i = 0; i < in; ++i) acc += row[i] * w[o * in + i];
        y[blockIdx.x * out + o] = RELU ? fmaxf(acc, 0.f) : acc;
    }
}

torch::Tensor dense(torch::Tensor x, torch::Tensor w, torch::Tensor b, bool relu) {
    int in = x.size(1), out = w.size(0);
    auto y = torch::empty({x.size(0), out}, x.options());
    if (relu)
        dense_kernel<true><<<x.size(0), 64, in * sizeof(float)>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), in, out);
    else
        dense_kernel<false><<<x.size(0), 64, in * sizeof(float)>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), in, out);
    return y;
}
"""

cpp_src = "torch::Tensor dense(torch::Tensor x, torch::Tensor w, torch::Tensor b, bool relu);"

ops = load_inline(
    name="mlp_sequential",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["dense"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, hidden, out_features):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(in_features, hidden), nn.ReLU(), nn.Linear(hidden, out_features))

    def forward(self, x):
        first, last = self.net[0], self.net[2]
        h = ops.dense(x, first.weight, first.bias, True)
        return ops.dense(h, last.weight, last.bias, False)
