# class: correct
# task: matmul
# features: split-K with atomicAdd into zeros, 3-D grid
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__global__ void split_kernel(const float* a, const float* b, float* c, int M, int K, int N, int chunk) {
    int n = blockIdx.x * 32 + threadIdx.x, m = blockIdx.y * 4 + threadIdx.y;
    int k0 = blockIdx.z * chunk, k1 = min(K, k0 + chunk);
    if (m >= M || n >= N) return;
    float acc = 0.f;
    for (int k = k0; k < k1; ++k) acc += a[m * K + k] * b[k * N + n];
    atomicAdd(&c[m * N + n], acc);
}

torch::Tensor matmul_split(torch::Tensor a, torch::Tensor b, int64_t parts) {
    int M = a.size(0), K = a.size(1), N = b.size(1);
    auto c = torch::zeros({M, N}, a.options());
    int chunk = (K + parts - 1) / parts;
    split_kernel<<<dim3((N + 31) / 32, (M + 3) / 4, parts), dim3(32, 4)>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), M, K, N, chunk);
    return c;
}
"""

CPP_SRC = """
torch::Tensor matmul_split(torch::Tensor a, torch::Tensor b, int64_t parts);
"""

_ext = load_inline(
    name="matmul_split_k",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["matmul_split"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return _ext.matmul_split(a, b, 4)
