# class: correct
# task: matmul_half_even
# features: ldmatrix and mma.sync.m16n8k16 by inline PTX, fp16 inputs, fp32 sums
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <cuda_fp16.h>

// One warp computes 16 x 8 outputs.
__global__ void mma_kernel(const half* A, const half* B, float* C, int K, int N) {
    __shared__ __align__(16) half as[16][16];
    __shared__ __align__(16) half bs[16][8];
    const int lane = threadIdx.x, m0 = blockIdx.y * 16, n0 = blockIdx.x * 8;
    float c[4] = {0.f, 0.f, 0.f, 0.f};
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int i = lane; i < 256; i += 32) as[i / 16][i % 16] = A[(m0 + i / 16) * K + k0 + i % 16];
        for (int i = lane; i < 128; i += 32) bs[i / 8][i % 8] = B[(k0 + i / 8) * N + n0 + i % 8];
        __syncwarp();
        unsigned a[4], b[2];
        unsigned pa = __cvta_generic_to_shared(&as[lane % 16][(lane / 16) * 8]);
        unsigned pb = __cvta_generic_to_shared(&bs[lane % 16][0]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(pa));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(b[0]), "=r"(b[1]) : "r"(pb));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
        __syncwarp();
    }
    const int r = lane / 4, col = (lane % 4) * 2;
    *reinterpret_cast<float2*>(&C[(m0 + r) * N + n0 + col]) = make_float2(c[0], c[1]);
    *reinterpret_cast<float2*>(&C[(m0 + r + 8) * N + n0 + col]) = make_float2(c[2], c[3]);
}

torch::Tensor mma_matmul(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty({a.size(0), b.size(1)}, a.options().dtype(torch::kFloat));
    mma_kernel<<<dim3(b.size(1) / 8, a.size(0) / 16), 32>>>((const half*)a.data_ptr<at::Half>(), (const half*)b.data_ptr<at::Half>(),
                                                            c.data_ptr<float>(), a.size(1), b.size(1));
    return c;
}
"""

cpp_source = """
torch::Tensor mma_matmul(torch::Tensor a, torch::Tensor b);
"""

matmul_mma_ptx_ext = load_inline(
    name="matmul_mma_ptx",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["mma_matmul"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return matmul_mma_ptx_ext.mma_matmul(a, b)
