# class: correct
# task: rnn
# features: loop over time in Python, select of a time step, state passed from call to call
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__global__ void rnn_cell_kernel(const float* __restrict__ x, const float* __restrict__ h, const float* __restrict__ wx, const float* __restrict__ b,
                                const float* __restrict__ wh, float* __restrict__ y, int batch, int in, int hidden) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch * hidden) return;
    const int row = i / hidden, unit = i - row * hidden;
    float acc = b[unit];
    for (int k = 0; k < in; ++k) acc = fmaf(wx[unit * in + k], x[row * in + k], acc);
    for (int k = 0; k < hidden; ++k) acc = fmaf(wh[unit * hidden + k], h[row * hidden + k], acc);
    y[i] = tanhf(acc);
}

torch::Tensor rnn_cell(torch::Tensor x, torch::Tensor h, torch::Tensor wx, torch::Tensor b, torch::Tensor wh) {
    auto y = torch::empty_like(h);
    const int n = y.numel();
    rnn_cell_kernel<<<(n + 63) / 64, 64>>>(x.data_ptr<float>(), h.data_ptr<float>(), wx.data_ptr<float>(), b.data_ptr<float>(), wh.data_ptr<float>(),
                                           y.data_ptr<float>(), x.size(0), x.size(1), h.size(1));
    return y;
}
"""

CPP_SRC = """
torch::Tensor rnn_cell(torch::Tensor x, torch::Tensor h, torch::Tensor wx, torch::Tensor b, torch::Tensor wh);
"""

_ext = load_inline(
    name="rnn_python_loop",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["rnn_cell"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, hidden):
        super().__init__()
        self.hidden = hidden
        self.i2h = nn.Linear(in_features, hidden)
        self.h2h = nn.Linear(hidden, hidden, bias=False)

    def forward(self, x):
        h = torch.zeros(x.size(1), self.hidden, device=x.device, dtype=x.dtype)
        for t in range(x.size(0)):
            h = _ext.rnn_cell(x[t], h, self.i2h.weight, self.i2h.bias, self.h2h.weight)
        return h
