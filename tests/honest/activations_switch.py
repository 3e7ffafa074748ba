# class: correct
# task: activations
# features: switch table in the kernel, blockIdx.y selects the operation, std::tuple returned
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r'''
#include <torch/extension.h>
#include <tuple>

__device__ float activate(int kind, float v) {
    switch (kind) {
        case 0: return v > 0.f ? v : expf(v) - 1.f;
        case 1:
            if (v <= -3.f) return 0.f;
            if (v >= 3.f) return v;
            return v * (v + 3.f) * (1.f / 6.f);
        case 2: return v > 20.f ? v : log1pf(expf(v));
        case 3: return v / (1.f + expf(-v));
        default: return 0.f;
    }
}

__global__ void activate_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[blockIdx.y * n + i] = activate(blockIdx.y, x[i]);
}

std::tuple<torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor> activations(torch::Tensor x) {
    int n = x.numel();
    auto y = torch::empty({4, x.size(0), x.size(1)}, x.options());
    dim3 grid((n + 127) / 128, 4);
    activate_kernel<<<grid, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return std::make_tuple(y[0], y[1], y[2], y[3]);
}
'''

cpp_src = '''
std::tuple<torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor> activations(torch::Tensor x);
'''

ops = load_inline(
    name="activations_switch",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["activations"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.activations(x)
