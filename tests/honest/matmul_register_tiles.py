# class: correct
# task: matmul
# features: 4 x 4 outputs a thread in registers, 64 x 64 block tiles, shared memory
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

constexpr int BM = 64, BN = 64, BK = 8, TM = 4, TN = 4;

__global__ void __launch_bounds__(256) sgemm_kernel(const float* A, const float* B, float* C, int M, int K, int N) {
    __shared__ float As[BK][BM];
    __shared__ float Bs[BK][BN];
    const int tid = threadIdx.x;
    const int tr = tid / (BN / TN), tc = tid % (BN / TN);
    float acc[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = tid; i < BM * BK; i += 256) {
            const int m = i / BK, k = i % BK;
            const int gm = blockIdx.y * BM + m, gk = k0 + k;
            As[k][m] = gm < M && gk < K ? A[gm * K + gk] : 0.f;
        }
        for (int i = tid; i < BK * BN; i += 256) {
            const int k = i / BN, n = i % BN;
            const int gk = k0 + k, gn = blockIdx.x * BN + n;
            Bs[k][n] = gk < K && gn < N ? B[gk * N + gn] : 0.f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            float ra[TM], rb[TN];
#pragma unroll
            for (int i = 0; i < TM; ++i) ra[i] = As[k][tr * TM + i];
#pragma unroll
            for (int j = 0; j < TN; ++j) rb[j] = Bs[k][tc * TN + j];
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j) acc[i][j] = fmaf(ra[i], rb[j], acc[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i) {
        const int m = blockIdx.y * BM + tr * TM + i;
        if (m >= M) break;
        for (int j = 0; j < TN; ++j) {
            const int n = blockIdx.x * BN + tc * TN + j;
            if (n < N) C[m * N + n] = acc[i][j];
        }
    }
}

torch::Tensor sgemm(torch::Tensor a, torch::Tensor b) {
    const int M = a.size(0), K = a.size(1), N = b.size(1);
    auto c = torch::empty({M, N}, a.options());
    dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
    sgemm_kernel<<<grid, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), M, K, N);
    return c;
}
"""

cpp_src = "torch::Tensor sgemm(torch::Tensor a, torch::Tensor b);"

ops = load_inline(
    name="matmul_register_tiles",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["sgemm"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return ops.sgemm(a, b)
