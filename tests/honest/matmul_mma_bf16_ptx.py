# class: correct
# task: matmul_bf16
# features: mma.sync.m16n8k16 bf16 by inline PTX, fragments loaded by hand, packed bf16 stores
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>
#include <cuda_bf16.h>

__device__ unsigned pack(const __nv_bfloat16* lo, const __nv_bfloat16* hi) {
    return (unsigned)__bfloat16_as_ushort(*lo) | ((unsigned)__bfloat16_as_ushort(*hi) << 16);
}

__global__ void mma_bf16_kernel(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int K, int N) {
    const int lane = threadIdx.x, g = lane >> 2, t = lane & 3;
    const int m0 = blockIdx.y * 16, n0 = blockIdx.x * 8;
    float c[4] = {};
    for (int k0 = 0; k0 < K; k0 += 16) {
        unsigned a[4], b[2];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const __nv_bfloat16* p = A + (m0 + g + (i % 2) * 8) * K + k0 + 2 * t + (i / 2) * 8;
            a[i] = pack(p, p + 1);
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const __nv_bfloat16* p = B + (k0 + 2 * t + i * 8) * N + n0 + g;
            b[i] = pack(p, p + N);
        }
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
    *reinterpret_cast<__nv_bfloat162*>(C + (m0 + g) * N + n0 + 2 * t) = __floats2bfloat162_rn(c[0], c[1]);
    *reinterpret_cast<__nv_bfloat162*>(C + (m0 + g + 8) * N + n0 + 2 * t) = __floats2bfloat162_rn(c[2], c[3]);
}

torch::Tensor mma_bf16(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty({a.size(0), b.size(1)}, a.options());
    mma_bf16_kernel<<<dim3(b.size(1) / 8, a.size(0) / 16), 32>>>((const __nv_bfloat16*)a.data_ptr(), (const __nv_bfloat16*)b.data_ptr(),
                                                                 (__nv_bfloat16*)c.data_ptr(), a.size(1), b.size(1));
    return c;
}
"""

CPP_SRC = """
torch::Tensor mma_bf16(torch::Tensor a, torch::Tensor b);
"""

_ext = load_inline(
    name="matmul_mma_bf16_ptx",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["mma_bf16"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return _ext.mma_bf16(a, b)
