# class: correct
# task: edit_distance
# features: anti-diagonal wavefront, barrier a diagonal, three rotating shared rows
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

__global__ void edit_kernel(const int* a, const int* b, int* out, int n, int m) {
    __shared__ int diagonal[3][64];
    const int t = threadIdx.x;  // row of the table
    a += blockIdx.x * n;
    b += blockIdx.x * m;
    for (int d = 0; d <= n + m; ++d) {
        const int j = d - t;
        int* now = diagonal[d % 3];
        const int* before = diagonal[(d + 2) % 3];
        const int* older = diagonal[(d + 1) % 3];
        if (t <= n && j >= 0 && j <= m) {
            int v;
            if (t == 0) v = j;
            else if (j == 0) v = t;
            else v = min(min(before[t - 1], before[t]) + 1, older[t - 1] + (a[t - 1] != b[j - 1]));
            now[t] = v;
            if (t == n && j == m) out[blockIdx.x] = v;
        }
        __syncthreads();
    }
}

torch::Tensor edit_distance(torch::Tensor a, torch::Tensor b) {
    auto out = torch::empty({a.size(0)}, a.options());
    edit_kernel<<<a.size(0), 32>>>(a.data_ptr<int>(), b.data_ptr<int>(), out.data_ptr<int>(), a.size(1), b.size(1));
    return out;
}
"""

cpp_src = "torch::Tensor edit_distance(torch::Tensor a, torch::Tensor b);"

ops = load_inline(
    name="edit_distance_wavefront",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["edit_distance"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return ops.edit_distance(a, b)
