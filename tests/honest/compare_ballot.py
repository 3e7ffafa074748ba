# class: correct
# task: compare_mask
# features: __ballot_sync, __activemask, divergent loop, bits written back as bools
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>

__global__ void ballot_kernel(const float* x, const float* y, unsigned char* greater, unsigned char* both, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x & 31;
    bool g = i < n && x[i] > y[i];
    bool b = i < n && x[i] > 0.f && y[i] > 0.f;
    unsigned int gm = __ballot_sync(0xffffffffu, g);
    unsigned int bm = __ballot_sync(0xffffffffu, b);
    if (i < n) {
        unsigned int active = __activemask();
        greater[i] = (gm >> lane) & (active >> lane) & 1u;
        both[i] = (bm >> lane) & 1u;
    }
}

std::tuple<torch::Tensor, torch::Tensor> compare_ballot(torch::Tensor x, torch::Tensor y) {
    auto g = torch::empty(x.sizes(), x.options().dtype(torch::kBool));
    auto b = torch::empty_like(g);
    int n = x.numel();
    ballot_kernel<<<(n + 95) / 96, 96>>>(x.data_ptr<float>(), y.data_ptr<float>(), (unsigned char*)g.data_ptr<bool>(), (unsigned char*)b.data_ptr<bool>(), n);
    return {g, b};
}
"""

CPP_SRC = """
std::tuple<torch::Tensor, torch::Tensor> compare_ballot(torch::Tensor x, torch::Tensor y);
"""

_ext = load_inline(
    name="compare_ballot",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["compare_ballot"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return _ext.compare_ballot(x, y)
