# class: correct
# task: matmul_even
# features: double buffering with cp.async by inline PTX, commit and wait groups
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r'''
#include <torch/extension.h>

#define TILE 32

__device__ __forceinline__ void copy16(void* shared, const void* global) {
    unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(address), "l"(global));
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;\n" ::); }
template <int N>
__device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;\n" ::"n"(N)); }

// 32 x 32 outputs, 256 threads: each copies 16 bytes of either tile and computes four outputs.
__global__ void matmul_async_kernel(const float* A, const float* B, float* C, int M, int K, int N) {
    __shared__ __align__(16) float As[2][TILE][TILE];
    __shared__ __align__(16) float Bs[2][TILE][TILE];
    const int r = threadIdx.x / 8, c4 = (threadIdx.x % 8) * 4;
    const int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    auto fetch = [&](int stage, int k0) {
        copy16(&As[stage][r][c4], &A[(row0 + r) * K + k0 + c4]);
        copy16(&Bs[stage][r][c4], &B[(k0 + r) * N + col0 + c4]);
        commit();
    };
    float acc[4] = {0.f, 0.f, 0.f, 0.f};
    const int tiles = K / TILE;
    fetch(0, 0);
    for (int t = 0; t < tiles; ++t) {
        if (t + 1 < tiles) {
            fetch((t + 1) & 1, (t + 1) * TILE);
            wait<1>();
        } else {
            wait<0>();
        }
        __syncthreads();
        const int s = t & 1;
        for (int k = 0; k < TILE; ++k) {
            const float a = As[s][r][k];
            const float4 b = *reinterpret_cast<const float4*>(&Bs[s][k][c4]);
            acc[0] += a * b.x;
            acc[1] += a * b.y;
            acc[2] += a * b.z;
            acc[3] += a * b.w;
        }
        __syncthreads();
    }
    *reinterpret_cast<float4*>(&C[(row0 + r) * N + col0 + c4]) = make_float4(acc[0], acc[1], acc[2], acc[3]);
}

torch::Tensor matmul_async(torch::Tensor a, torch::Tensor b) {
    const int M = a.size(0), K = a.size(1), N = b.size(1);
    TORCH_CHECK(M % TILE == 0 && K % TILE == 0 && N % TILE == 0, "sizes must be multiples of ", TILE);
    auto c = torch::empty({M, N}, a.options());
    matmul_async_kernel<<<dim3(N / TILE, M / TILE), 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), M, K, N);
    return c;
}
'''

cpp_src = '''
torch::Tensor matmul_async(torch::Tensor a, torch::Tensor b);
'''

ops = load_inline(
    name="matmul_cp_async_ptx",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["matmul_async"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return ops.matmul_async(a, b)
