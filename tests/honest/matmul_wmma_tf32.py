# class: correct
# task: matmul_coarse
# features: wmma tf32 16x16x8 on values that fp16 holds exactly, __float_to_tf32
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = '''
#include <torch/extension.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

__global__ void round_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __half2float(__float2half_rn(x[i]));
}

__global__ void tf32_kernel(const float* A, const float* B, float* C, int K, int N) {
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int k = 0; k < K; k += 8) {
        wmma::load_matrix_sync(fa, A + blockIdx.y * 16 * K + k, K);
        wmma::load_matrix_sync(fb, B + k * N + blockIdx.x * 16, N);
        for (int i = 0; i < fa.num_elements; i++) fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
        for (int i = 0; i < fb.num_elements; i++) fb.x[i] = wmma::__float_to_tf32(fb.x[i]);
        wmma::mma_sync(acc, fa, fb, acc);
    }
    wmma::store_matrix_sync(C + blockIdx.y * 16 * N + blockIdx.x * 16, acc, N, wmma::mem_row_major);
}

torch::Tensor tf32_matmul(torch::Tensor a, torch::Tensor b) {
    auto ra = torch::empty_like(a), rb = torch::empty_like(b);
    auto c = torch::empty({a.size(0), b.size(1)}, a.options());
    round_kernel<<<(a.numel() + 255) / 256, 256>>>(a.data_ptr<float>(), ra.data_ptr<float>(), a.numel());
    round_kernel<<<(b.numel() + 255) / 256, 256>>>(b.data_ptr<float>(), rb.data_ptr<float>(), b.numel());
    tf32_kernel<<<dim3(b.size(1) / 16, a.size(0) / 16), 32>>>(ra.data_ptr<float>(), rb.data_ptr<float>(), c.data_ptr<float>(), a.size(1), b.size(1));
    return c;
}
'''

cpp_src = "torch::Tensor tf32_matmul(torch::Tensor a, torch::Tensor b);"

ops = load_inline(
    name="matmul_wmma_tf32",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["tf32_matmul"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return ops.tf32_matmul(a, b)
