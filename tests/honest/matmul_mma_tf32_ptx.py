# class: correct
# task: matmul_coarse
# features: mma.sync.m16n8k8 tf32 by inline PTX on values that fp16 holds, cvt.rna.tf32
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_fp16.h>

__device__ unsigned tf32_of(float v) {
    unsigned r;
    const float rounded = __half2float(__float2half_rn(v));
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(rounded));
    return r;
}

__global__ void mma_tf32_kernel(const float* A, const float* B, float* C, int K, int N) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int m0 = blockIdx.y * 16, n0 = (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * 8;
    float c[4] = {0.f, 0.f, 0.f, 0.f};
    for (int k = 0; k < K; k += 8) {
        const unsigned a0 = tf32_of(A[(m0 + g) * K + k + t]), a1 = tf32_of(A[(m0 + g + 8) * K + k + t]);
        const unsigned a2 = tf32_of(A[(m0 + g) * K + k + t + 4]), a3 = tf32_of(A[(m0 + g + 8) * K + k + t + 4]);
        const unsigned b0 = tf32_of(B[(k + t) * N + n0 + g]), b1 = tf32_of(B[(k + t + 4) * N + n0 + g]);
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    }
    C[(m0 + g) * N + n0 + 2 * t] = c[0];
    C[(m0 + g) * N + n0 + 2 * t + 1] = c[1];
    C[(m0 + g + 8) * N + n0 + 2 * t] = c[2];
    C[(m0 + g + 8) * N + n0 + 2 * t + 1] = c[3];
}

torch::Tensor mma_tf32(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty({a.size(0), b.size(1)}, a.options());
    mma_tf32_kernel<<<dim3(b.size(1) / 16, a.size(0) / 16), 64>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), a.size(1), b.size(1));
    return c;
}
"""

cpp_source = "torch::Tensor mma_tf32(torch::Tensor a, torch::Tensor b);"

matmul_mma_tf32_ptx_ext = load_inline(
    name="matmul_mma_tf32_ptx",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["mma_tf32"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return matmul_mma_tf32_ptx_ext.mma_tf32(a, b)
