# class: correct
# task: mlp
# features: hidden layer in shared memory, one block a row, ModelNew derives from a base class, parameters by state_dict order
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__global__ void mlp_kernel(const float* x, const float* w1, const float* b1, const float* w2, const float* b2, float* y, int in, int hidden, int out) {
    extern __shared__ float s[];
    float* sx = s;
    float* sh = s + in;
    for (int i = threadIdx.x; i < in; i += blockDim.x) sx[i] = x[blockIdx.x * in + i];
    __syncthreads();
    for (int h = threadIdx.x; h < hidden; h += blockDim.x) {
        float acc = b1[h];
        for (int i = 0; i < in; ++i) acc = fmaf(w1[h * in + i], sx[i], acc);
        sh[h] = fmaxf(acc, 0.f);
    }
    __syncthreads();
    if (threadIdx.x < out) {
        float acc = b2[threadIdx.x];
        for (int h = 0; h < hidden; ++h) acc = fmaf(w2[threadIdx.x * hidden + h], sh[h], acc);
        y[blockIdx.x * out + threadIdx.x] = acc;
    }
}

torch::Tensor mlp_forward(torch::Tensor x, std::vector<torch::Tensor> params) {
    TORCH_CHECK(params.size() == 4, "four parameters expected, got ", params.size());
    int in = x.size(1), hidden = params[0].size(0), out = params[2].size(0);
    auto y = torch::empty({x.size(0), out}, x.options());
    mlp_kernel<<<x.size(0), 64, (in + hidden) * sizeof(float)>>>(x.data_ptr<float>(), params[0].data_ptr<float>(), params[1].data_ptr<float>(),
                                                               params[2].data_ptr<float>(), params[3].data_ptr<float>(), y.data_ptr<float>(), in, hidden, out);
    return y;
}
"""

CPP_SRC = """
torch::Tensor mlp_forward(torch::Tensor x, std::vector<torch::Tensor> params);
"""

_ext = load_inline(
    name="mlp_fused",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["mlp_forward"],
)


class Base(nn.Module):
    def __init__(self, in_features, hidden, out_features):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(in_features, hidden), nn.ReLU(), nn.Linear(hidden, out_features))


class ModelNew(Base):
    def forward(self, x):
        return _ext.mlp_forward(x, list(self.parameters()))
