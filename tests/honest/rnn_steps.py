# class: correct
# task: rnn
# features: a launch per time step, two state tensors swapped with std::swap
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <utility>

__global__ void step_kernel(const float* x, const float* wx, const float* bx, const float* wh, const float* h, float* out, int in, int hidden) {
    int b = blockIdx.x, j = threadIdx.x;
    if (j >= hidden) return;
    float acc = bx[j];
    for (int i = 0; i < in; ++i) acc += x[b * in + i] * wx[j * in + i];
    for (int i = 0; i < hidden; ++i) acc += h[b * hidden + i] * wh[j * hidden + i];
    out[b * hidden + j] = tanhf(acc);
}

torch::Tensor rnn_forward(torch::Tensor x, torch::Tensor wx, torch::Tensor bx, torch::Tensor wh) {
    int steps = x.size(0), batch = x.size(1), in = x.size(2), hidden = wh.size(0);
    auto h = torch::zeros({batch, hidden}, x.options());
    auto next = torch::empty_like(h);
    for (int t = 0; t < steps; ++t) {
        step_kernel<<<batch, 32>>>(x[t].data_ptr<float>(), wx.data_ptr<float>(), bx.data_ptr<float>(), wh.data_ptr<float>(), h.data_ptr<float>(), next.data_ptr<float>(), in, hidden);
        std::swap(h, next);
    }
    return h;
}
"""

cpp_source = "torch::Tensor rnn_forward(torch::Tensor x, torch::Tensor wx, torch::Tensor bx, torch::Tensor wh);"

rnn_steps_ext = load_inline(
    name="rnn_steps",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["rnn_forward"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, hidden):
        super().__init__()
        self.hidden = hidden
        self.i2h = nn.Linear(in_features, hidden)
        self.h2h = nn.Linear(hidden, hidden, bias=False)

    def forward(self, x):
        return rnn_steps_ext.rnn_forward(x, self.i2h.weight, self.i2h.bias, self.h2h.weight)
