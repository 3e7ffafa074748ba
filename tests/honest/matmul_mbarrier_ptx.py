# class: correct
# task: matmul_even
# features: mbarrier by inline PTX: init, arrive, try_wait.parity loops, phases
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r'''
#include <torch/extension.h>
#include <cstdint>

__device__ __forceinline__ void barrier_init(uint64_t* bar, unsigned count) {
    unsigned p = (unsigned)__cvta_generic_to_shared(bar);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(p), "r"(count) : "memory");
}
__device__ __forceinline__ void barrier_arrive(uint64_t* bar) {
    unsigned p = (unsigned)__cvta_generic_to_shared(bar);
    asm volatile("{\n\t.reg .b64 state;\n\tmbarrier.arrive.shared::cta.b64 state, [%0];\n\t}" ::"r"(p) : "memory");
}
__device__ __forceinline__ void barrier_wait(uint64_t* bar, unsigned parity) {
    unsigned p = (unsigned)__cvta_generic_to_shared(bar), done = 0;
    while (!done) {
        asm volatile(
            "{\n\t.reg .pred ready;\n\tmbarrier.try_wait.parity.shared::cta.b64 ready, [%1], %2;\n\tselp.u32 %0, 1, 0, ready;\n\t}"
            : "=r"(done) : "r"(p), "r"(parity) : "memory");
    }
}

__global__ void matmul_phases_kernel(const float* A, const float* B, float* C, int K, int N) {
    __shared__ float As[16][16], Bs[16][16];
    __shared__ uint64_t bar;
    const int x = threadIdx.x, y = threadIdx.y;
    if (x == 0 && y == 0) barrier_init(&bar, 256);
    __syncthreads();
    const int row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float acc = 0.f;
    unsigned parity = 0;
    for (int k0 = 0; k0 < K; k0 += 16) {
        As[y][x] = A[row * K + k0 + x];
        Bs[y][x] = B[(k0 + y) * N + col];
        barrier_arrive(&bar);
        barrier_wait(&bar, parity);
        parity ^= 1;
        for (int k = 0; k < 16; ++k) acc += As[y][k] * Bs[k][x];
        barrier_arrive(&bar);
        barrier_wait(&bar, parity);
        parity ^= 1;
    }
    C[row * N + col] = acc;
}

torch::Tensor matmul_phases(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty({a.size(0), b.size(1)}, a.options());
    matmul_phases_kernel<<<dim3(b.size(1) / 16, a.size(0) / 16), dim3(16, 16)>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), a.size(1), b.size(1));
    return c;
}
'''

CPP_SRC = '''
torch::Tensor matmul_phases(torch::Tensor a, torch::Tensor b);
'''

_ext = load_inline(
    name="matmul_mbarrier_ptx",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["matmul_phases"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return _ext.matmul_phases(a, b)
