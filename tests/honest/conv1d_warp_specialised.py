# class: correct
# task: conv1d
# features: producer and consumer warps with bar.arrive and bar.sync of a named barrier
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

// Warp 0 loads an input row, warps 1 and 2 compute; barrier 1: full.
__global__ void conv1d_ws_kernel(const float* x, const float* w, const float* b, float* y, int C, int L, int O, int out) {
    extern __shared__ float rows[];
    const int n = blockIdx.x;
    if (threadIdx.x < 32) {
        for (int i = threadIdx.x; i < C * L; i += 32) rows[i] = x[n * C * L + i];
        __threadfence_block();
        asm volatile("bar.arrive 1, 96;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 96;" ::: "memory");
        for (int i = threadIdx.x - 32; i < O * out; i += 64) {
            const int o = i / out, t = i % out;
            float acc = b[o];
            for (int c = 0; c < C; ++c)
                for (int k = 0; k < 5; ++k) {
                    const int s = 2 * t + k - 2;
                    if (s >= 0 && s < L) acc += rows[c * L + s] * w[(o * C + c) * 5 + k];
                }
            y[(n * O + o) * out + t] = acc;
        }
    }
}

torch::Tensor conv1d_ws(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    const int N = x.size(0), C = x.size(1), L = x.size(2), O = w.size(0), out = (L + 4 - 5) / 2 + 1;
    auto y = torch::empty({N, O, out}, x.options());
    conv1d_ws_kernel<<<N, 96, C * L * sizeof(float)>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), C, L, O, out);
    return y;
}
"""

cpp_src = "torch::Tensor conv1d_ws(torch::Tensor x, torch::Tensor w, torch::Tensor b);"

module = load_inline(
    name="conv1d_warp_specialised",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["conv1d_ws"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 6, 5, stride=2, padding=2)

    def forward(self, x):
        return module.conv1d_ws(x, self.conv.weight, self.conv.bias)
