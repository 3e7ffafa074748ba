# class: correct
# task: cdist
# features: pairwise distances, both tiles in shared memory, sqrtf
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void cdist_kernel(const float* a, const float* b, float* d, int n, int m, int dim) {
    __shared__ float sa[16][17], sb[16][17];
    const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    float acc = 0.f;
    for (int k0 = 0; k0 < dim; k0 += 16) {
        const int k = k0 + threadIdx.x, jb = blockIdx.x * 16 + threadIdx.y;
        sa[threadIdx.y][threadIdx.x] = i < n && k < dim ? a[i * dim + k] : 0.f;
        sb[threadIdx.y][threadIdx.x] = jb < m && k < dim ? b[jb * dim + k] : 0.f;
        __syncthreads();
        for (int q = 0; q < 16; ++q) {
            const float e = sa[threadIdx.y][q] - sb[threadIdx.x][q];
            acc += e * e;
        }
        __syncthreads();
    }
    if (i < n && j < m) d[i * m + j] = sqrtf(acc);
}

torch::Tensor cdist(torch::Tensor a, torch::Tensor b) {
    const int n = a.size(0), m = b.size(0), dim = a.size(1);
    auto d = torch::empty({n, m}, a.options());
    cdist_kernel<<<dim3((m + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a.data_ptr<float>(), b.data_ptr<float>(), d.data_ptr<float>(), n, m, dim);
    return d;
}
"""

cpp_source = "torch::Tensor cdist(torch::Tensor a, torch::Tensor b);"

cdist_tiles_ext = load_inline(
    name="cdist_tiles",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["cdist"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return cdist_tiles_ext.cdist(a, b)
