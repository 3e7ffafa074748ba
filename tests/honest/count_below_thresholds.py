# class: correct
# task: count_below
# features: thresholds in shared memory, __syncthreads_count, block per threshold
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

__global__ void count_below_kernel(const float* x, const float* limits, int64_t* counts, int n) {
    const float limit = limits[blockIdx.x];
    int total = 0;
    for (int base = 0; base < n; base += blockDim.x) {
        const int i = base + threadIdx.x;
        total += __syncthreads_count(i < n && x[i] < limit);
    }
    if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

torch::Tensor count_below(torch::Tensor x, torch::Tensor limits) {
    auto counts = torch::empty({limits.size(0)}, x.options().dtype(torch::kInt64));
    count_below_kernel<<<limits.size(0), 256>>>(x.data_ptr<float>(), limits.data_ptr<float>(), counts.data_ptr<int64_t>(), x.numel());
    return counts;
}
"""

cpp_src = """
torch::Tensor count_below(torch::Tensor x, torch::Tensor limits);
"""

module = load_inline(
    name="count_below_thresholds",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["count_below"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, limits):
        return module.count_below(x, limits)
