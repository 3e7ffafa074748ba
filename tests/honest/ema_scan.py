# class: correct
# task: ema
# features: first-order recurrence, thread per row with prefetch in a local array
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r'''
#include <torch/extension.h>

__global__ void ema_kernel(const float* x, float* y, int rows, int steps) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float state = 0.f, ahead[4];
    for (int t0 = 0; t0 < steps; t0 += 4) {
        const int count = min(4, steps - t0);
        for (int k = 0; k < count; ++k) ahead[k] = x[r * steps + t0 + k];
        for (int k = 0; k < count; ++k) {
            state = 0.9f * state + 0.1f * ahead[k];
            y[r * steps + t0 + k] = state;
        }
    }
}

torch::Tensor ema(torch::Tensor x) {
    auto y = torch::empty_like(x);
    ema_kernel<<<(x.size(0) + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
'''

cpp_src = '''
torch::Tensor ema(torch::Tensor x);
'''

module = load_inline(
    name="ema_scan",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["ema"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.ema(x)
