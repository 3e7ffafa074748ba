# class: correct
# task: matmul_even
# features: 2-D local register blocking, __align__ shared struct, #pragma unroll with macros
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

#define BLOCK 32
#define STEP 8
#define FOR_UNROLLED(i, n) _Pragma("unroll") for (int i = 0; i < (n); ++i)

struct __align__(16) Tiles {
    float a[STEP][BLOCK];
    float b[STEP][BLOCK];
};

__global__ void matmul_struct_kernel(const float* a, const float* b, float* c, int K, int N) {
    __shared__ Tiles tiles;
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;  // 16 x 8 threads, 2 x 4 outputs each
    const int m0 = blockIdx.y * BLOCK, n0 = blockIdx.x * BLOCK;
    float acc[4][2] = {{0.f}};
    for (int k0 = 0; k0 < K; k0 += STEP) {
        for (int i = threadIdx.x; i < STEP * BLOCK; i += 128) {
            tiles.a[i % STEP][i / STEP] = a[(m0 + i / STEP) * K + k0 + i % STEP];
            tiles.b[i / BLOCK][i % BLOCK] = b[(k0 + i / BLOCK) * N + n0 + i % BLOCK];
        }
        __syncthreads();
        FOR_UNROLLED(k, STEP) {
            const float4 va = *reinterpret_cast<const float4*>(&tiles.a[k][4 * ty]);
            const float2 vb = *reinterpret_cast<const float2*>(&tiles.b[k][2 * tx]);
            const float ra[4] = {va.x, va.y, va.z, va.w};
            FOR_UNROLLED(i, 4) {
                acc[i][0] += ra[i] * vb.x;
                acc[i][1] += ra[i] * vb.y;
            }
        }
        __syncthreads();
    }
    FOR_UNROLLED(i, 4)
        *reinterpret_cast<float2*>(&c[(m0 + 4 * ty + i) * N + n0 + 2 * tx]) = make_float2(acc[i][0], acc[i][1]);
}

torch::Tensor matmul_struct(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(a.size(0) % BLOCK == 0 && b.size(1) % BLOCK == 0 && a.size(1) % STEP == 0, "sizes");
    auto c = torch::empty({a.size(0), b.size(1)}, a.options());
    matmul_struct_kernel<<<dim3(b.size(1) / BLOCK, a.size(0) / BLOCK), 128>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), a.size(1), b.size(1));
    return c;
}
"""

cpp_src = """
torch::Tensor matmul_struct(torch::Tensor a, torch::Tensor b);
"""

ops = load_inline(
    name="matmul_shared_struct",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["matmul_struct"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return ops.matmul_struct(a, b)
