# class: correct
# task: histogram
# features: __match_any_sync aggregates equal bins of a warp, __ffs picks the leader
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__global__ void histogram_match_kernel(const long* x, unsigned long long* bins, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool inside = i < n;
    const unsigned int members = __ballot_sync(0xffffffffu, inside);
    if (!inside) return;
    const int bin = (int)x[i];
    const unsigned int peers = __match_any_sync(members, bin);
    const int leader = __ffs(peers) - 1;
    if ((threadIdx.x & 31) == leader) atomicAdd(bins + bin, (unsigned long long)__popc(peers));
}

torch::Tensor histogram_match(torch::Tensor x) {
    auto bins = torch::zeros({64}, torch::TensorOptions().dtype(torch::kInt64).device(x.device()));
    const int n = x.numel();
    histogram_match_kernel<<<(n + 159) / 160, 160>>>(x.data_ptr<long>(), (unsigned long long*)bins.data_ptr<long>(), n);
    return bins;
}
"""

CPP_SRC = """
torch::Tensor histogram_match(torch::Tensor x);
"""

_ext = load_inline(
    name="histogram_match_any",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["histogram_match"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.histogram_match(x)
