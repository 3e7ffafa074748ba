# class: correct
# task: matmul_half_even
# features: wmma 16x16x16 fp16 with fp32 accumulator, warp per tile
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

__global__ void wmma_kernel(const half* A, const half* B, float* C, int M, int K, int N) {
    const int tile_m = blockIdx.y * blockDim.y + threadIdx.y;
    const int tile_n = blockIdx.x;
    if (tile_m * 16 >= M) return;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(fa, A + tile_m * 16 * K + k, K);
        wmma::load_matrix_sync(fb, B + k * N + tile_n * 16, N);
        wmma::mma_sync(acc, fa, fb, acc);
    }
    wmma::store_matrix_sync(C + tile_m * 16 * N + tile_n * 16, acc, N, wmma::mem_row_major);
}

torch::Tensor wmma_matmul(torch::Tensor a, torch::Tensor b) {
    const int M = a.size(0), K = a.size(1), N = b.size(1);
    TORCH_CHECK(M % 16 == 0 && N % 16 == 0 && K % 16 == 0, "multiples of 16 expected");
    auto c = torch::empty({M, N}, a.options().dtype(torch::kFloat32));
    dim3 block(32, 2), grid(N / 16, (M / 16 + 1) / 2);
    wmma_kernel<<<grid, block>>>(reinterpret_cast<const half*>(a.data_ptr<at::Half>()), reinterpret_cast<const half*>(b.data_ptr<at::Half>()),
                                 c.data_ptr<float>(), M, K, N);
    return c;
}
"""

cpp_src = """
torch::Tensor wmma_matmul(torch::Tensor a, torch::Tensor b);
"""

ops = load_inline(
    name="matmul_wmma_fp16",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["wmma_matmul"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return ops.wmma_matmul(a, b)
