# class: correct
# task: lstm_cell
# features: gates in shared memory, nn.LSTMCell's parameters, in-place on clones of the states
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__device__ __forceinline__ float sigmoid(float v) { return 1.0f / (1.0f + expf(-v)); }

__global__ void lstm_kernel(const float* x, const float* wi, const float* wh, const float* bi, const float* bh, float* h, float* c, int in, int hidden) {
    extern __shared__ float smem[];
    float* gates = smem;
    float* state = smem + 4 * hidden;
    const int b = blockIdx.x;
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) state[i] = h[b * hidden + i];
    __syncthreads();
    for (int g = threadIdx.x; g < 4 * hidden; g += blockDim.x) {
        float acc = bi[g] + bh[g];
        for (int k = 0; k < in; ++k) acc += wi[g * in + k] * x[b * in + k];
        for (int k = 0; k < hidden; ++k) acc += wh[g * hidden + k] * state[k];
        gates[g] = acc;
    }
    __syncthreads();
    for (int u = threadIdx.x; u < hidden; u += blockDim.x) {
        const float i = sigmoid(gates[u]), f = sigmoid(gates[hidden + u]), g = tanhf(gates[2 * hidden + u]), o = sigmoid(gates[3 * hidden + u]);
        const float next = f * c[b * hidden + u] + i * g;
        c[b * hidden + u] = next;
        h[b * hidden + u] = o * tanhf(next);
    }
}

std::vector<torch::Tensor> lstm_steps(torch::Tensor x, torch::Tensor h0, torch::Tensor c0, torch::Tensor wi, torch::Tensor wh, torch::Tensor bi, torch::Tensor bh) {
    auto h = h0.clone(), c = c0.clone();
    const int batch = x.size(1), in = x.size(2), hidden = h.size(1);
    for (int64_t t = 0; t < x.size(0); ++t) {
        lstm_kernel<<<batch, 64, 5 * hidden * sizeof(float)>>>(x.data_ptr<float>() + t * batch * in, wi.data_ptr<float>(), wh.data_ptr<float>(), bi.data_ptr<float>(),
                                                               bh.data_ptr<float>(), h.data_ptr<float>(), c.data_ptr<float>(), in, hidden);
    }
    return {h, c};
}
"""

cpp_src = """
std::vector<torch::Tensor> lstm_steps(torch::Tensor x, torch::Tensor h0, torch::Tensor c0, torch::Tensor wi, torch::Tensor wh, torch::Tensor bi, torch::Tensor bh);
"""

ops = load_inline(
    name="lstm_cell_fused",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["lstm_steps"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, in_features, hidden):
        super().__init__()
        self.cell = nn.LSTMCell(in_features, hidden)

    def forward(self, x, h, c):
        p = self.cell
        h, c = ops.lstm_steps(x, h, c, p.weight_ih, p.weight_hh, p.bias_ih, p.bias_hh)
        return h, c
