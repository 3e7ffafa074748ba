# class: correct
# task: softmax_long
# features: max, sum and normalise as three launches, temporaries, cudaMalloc and cudaFree
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

__global__ void row_max(const float* x, float* m, int n) {
    __shared__ float s[256];
    float v = -INFINITY;
    for (int i = threadIdx.x; i < n; i += 256) v = fmaxf(v, x[blockIdx.x * n + i]);
    s[threadIdx.x] = v;
    __syncthreads();
    for (int k = 128; k; k /= 2) {
        if (threadIdx.x < k) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + k]);
        __syncthreads();
    }
    if (!threadIdx.x) m[blockIdx.x] = s[0];
}
__global__ void row_exp_sum(const float* x, const float* m, float* d, int n) {
    __shared__ float s[256];
    float v = 0.f;
    for (int i = threadIdx.x; i < n; i += 256) v += expf(x[blockIdx.x * n + i] - m[blockIdx.x]);
    s[threadIdx.x] = v;
    __syncthreads();
    for (int k = 128; k; k /= 2) {
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (!threadIdx.x) d[blockIdx.x] = s[0];
}
__global__ void normalise(const float* x, const float* m, const float* d, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y;
    if (i < n) y[r * n + i] = expf(x[r * n + i] - m[r]) / d[r];
}

torch::Tensor softmax3(torch::Tensor x) {
    const int rows = x.size(0), n = x.size(1);
    auto y = torch::empty_like(x);
    float *m = nullptr, *d = nullptr;
    TORCH_CHECK(cudaMalloc(&m, rows * sizeof(float)) == cudaSuccess);
    TORCH_CHECK(cudaMalloc((void**)&d, rows * sizeof(float)) == cudaSuccess);
    row_max<<<rows, 256>>>(x.data_ptr<float>(), m, n);
    row_exp_sum<<<rows, 256>>>(x.data_ptr<float>(), m, d, n);
    normalise<<<dim3((n + 255) / 256, rows), 256>>>(x.data_ptr<float>(), m, d, y.data_ptr<float>(), n);
    cudaDeviceSynchronize();
    cudaFree(m);
    cudaFree(d);
    return y;
}
"""

cpp_src = """
torch::Tensor softmax3(torch::Tensor x);
"""

module = load_inline(
    name="softmax_three_kernels",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["softmax3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.softmax3(x)
