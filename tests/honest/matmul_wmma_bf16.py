# class: correct
# task: matmul_bf16
# features: wmma bf16, accumulator stored to shared memory and rounded once to bfloat16
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>
#include <cuda_bf16.h>
#include <mma.h>

__global__ void bf16_kernel(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int K, int N) {
    using namespace nvcuda::wmma;
    __shared__ float tile[16 * 16];
    fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> fa;
    fragment<matrix_b, 16, 16, 16, __nv_bfloat16, row_major> fb;
    fragment<accumulator, 16, 16, 16, float> acc;
    fill_fragment(acc, 0.0f);
    const int m = blockIdx.y * 16, n = blockIdx.x * 16;
    for (int k = 0; k < K; k += 16) {
        load_matrix_sync(fa, A + m * K + k, K);
        load_matrix_sync(fb, B + k * N + n, N);
        mma_sync(acc, fa, fb, acc);
    }
    store_matrix_sync(tile, acc, 16, mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32) C[(m + i / 16) * N + n + i % 16] = __float2bfloat16(tile[i]);
}

torch::Tensor bf16_matmul(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty({a.size(0), b.size(1)}, a.options());
    bf16_kernel<<<dim3(b.size(1) / 16, a.size(0) / 16), 32>>>(
        reinterpret_cast<const __nv_bfloat16*>(a.data_ptr<at::BFloat16>()), reinterpret_cast<const __nv_bfloat16*>(b.data_ptr<at::BFloat16>()),
        reinterpret_cast<__nv_bfloat16*>(c.data_ptr<at::BFloat16>()), a.size(1), b.size(1));
    return c;
}
"""

CPP_SRC = """
torch::Tensor bf16_matmul(torch::Tensor a, torch::Tensor b);
"""

_ext = load_inline(
    name="matmul_wmma_bf16",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["bf16_matmul"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return _ext.bf16_matmul(a, b)
